// Package attack holds hostile programs, one a file, with what each tries and
// what must be seen of it in a sandbox.
//
// It owns the programs, the bait that a host lays out for them, and the
// verdict on a run. It must not know concrete backends, nor how runs or
// verdicts are shown.
package attack

import (
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/executor"
)

// Attack is one hostile program. It does no harm where nothing contains it:
// what it tries is bounded, undone, or made with arguments that have no effect.
type Attack struct {
	// Name is the file's, without its extension.
	Name string
	// Title says in a few words what it wants; Tries how; Seen what a sandbox
	// makes of it.
	Title, Tries, Seen string
	// Outside says why it is not shown to work without a sandbox; empty when it
	// can be.
	Outside string
	// Ends are the ends of a run that are right; a report of its failure unless
	// the file says otherwise.
	Ends []End
	// Claim is what it is aimed at. A sandbox that does not claim to enforce it
	// is not blamed.
	Claim Claim
	// Pair is true when two runs take part, at the same time.
	Pair bool
	// Timeout is the run's time limit; 0 means one that it does not reach.
	Timeout time.Duration

	program string
}

// End is a way in which the run of an attack can end.
type End string

// The ends that a file may name, beside the kinds of an executor.Failure.
const (
	EndReport End = "report" // the program ended by itself and gave its account
	EndSilent End = "silent" // the run counts as ended well, without an account
)

// Claim is what a backend may or may not enforce: a limit of a sandbox.Spec, or
// that sandboxes share no files or device nodes.
type Claim string

// The claims that a file may name.
const (
	ClaimMemory    Claim = "memory"
	ClaimProcesses Claim = "processes"
	ClaimScratch   Claim = "scratch"
	ClaimFiles     Claim = "files"
	ClaimDevices   Claim = "devices"
)

var claims = []Claim{ClaimMemory, ClaimProcesses, ClaimScratch, ClaimFiles, ClaimDevices}

//go:embed programs/*.py
var programs embed.FS

//go:embed prelude.py
var prelude string

// All returns every attack, sorted by name.
func All() []Attack { return slices.Clone(all()) }

var all = sync.OnceValue(func() []Attack {
	files, err := programs.ReadDir("programs")
	if err != nil {
		panic("attack: " + err.Error()) // the folder is embedded by name
	}
	list := make([]Attack, len(files))
	for i, file := range files {
		text, err := programs.ReadFile(path.Join("programs", file.Name()))
		if err != nil {
			panic("attack: " + err.Error())
		}
		if list[i], err = parse(strings.TrimSuffix(file.Name(), ".py"), string(text)); err != nil {
			panic("attack: " + err.Error()) // a test reads every file
		}
	}
	return list
})

// ends are the words that "Ends:" may hold.
var ends = []End{
	EndReport, EndSilent, End(executor.FailMemory), End(executor.FailTimeout), End(executor.FailDied), End(executor.FailProtocol),
}

// parse reads a program and the comment that it starts with.
func parse(name, text string) (Attack, error) {
	a := Attack{Name: name, program: text, Ends: []End{EndReport}}
	for line := range strings.Lines(text) {
		line, isComment := strings.CutPrefix(strings.TrimSpace(line), "# ")
		if !isComment {
			break
		}
		key, value, _ := strings.Cut(line, ": ")
		var known bool
		switch key {
		case "Title":
			a.Title, known = value, true
		case "Tries":
			a.Tries, known = value, true
		case "Seen":
			a.Seen, known = value, true
		case "Outside":
			a.Outside, known = value, true
		case "Claims":
			a.Claim, known = Claim(value), slices.Contains(claims, Claim(value))
		case "Runs":
			a.Pair, known = true, value == "two"
		case "Seconds":
			seconds, err := strconv.Atoi(value)
			a.Timeout, known = time.Duration(seconds)*time.Second, err == nil
		case "Ends":
			a.Ends, known = nil, true
			for word := range strings.SplitSeq(value, ", ") {
				a.Ends, known = append(a.Ends, End(word)), known && slices.Contains(ends, End(word))
			}
		}
		if !known {
			return a, fmt.Errorf("%s.py: %q is no line of a header", name, line)
		}
	}
	if a.Title == "" || a.Tries == "" || a.Seen == "" {
		return a, fmt.Errorf("%s.py: Title, Tries or Seen is missing", name)
	}
	return a, nil
}

// Source returns the program, ready to run, with the bait it is to try. role
// is 0, and 1 for the second run of a pair. inside is false when there is no
// sandbox: then the program leaves out what would reach beyond this machine.
func (a Attack) Source(b *Bait, role int, inside bool) (string, error) {
	parameters, err := json.Marshal(struct {
		*Bait
		Attack string `json:"attack"`
		Role   int    `json:"role"`
		Inside bool   `json:"inside"`
	}{b, a.Name, role, inside})
	if err != nil {
		return "", fmt.Errorf("attack: %s: %w", a.Name, err)
	}
	literal, err := json.Marshal(string(parameters)) // a string of Python too
	if err != nil {
		return "", fmt.Errorf("attack: %s: %w", a.Name, err)
	}
	return strings.Replace(prelude, `json.loads("{}")`, "json.loads("+string(literal)+")", 1) + a.program, nil
}
