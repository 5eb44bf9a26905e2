package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/ptc-mcp/ptc-mcp/internal/config/clients"
	"github.com/ptc-mcp/ptc-mcp/internal/setup"
)

// dialog asks questions in a terminal.
type dialog struct {
	ctx      context.Context
	out      io.Writer
	terminal bool
	lines    *bufio.Reader
}

func newDialog(ctx context.Context, streams Streams) *dialog {
	file, ok := streams.In.(*os.File)
	return &dialog{
		ctx: ctx, out: streams.Out, lines: bufio.NewReader(streams.In),
		terminal: ok && term.IsTerminal(int(file.Fd())),
	}
}

// ask asks until the answer is one that take accepts; an empty answer is the
// standard one.
func (d *dialog) ask(question, standard string, take func(answer string) error) error {
	for {
		fmt.Fprintf(d.out, "%s [%s] ", question, standard)
		line, err := d.read()
		if err != nil {
			return err
		}
		answer := strings.TrimSpace(line)
		if answer == "" {
			answer = standard
		}
		err = take(answer)
		if err == nil {
			return nil
		}
		fmt.Fprintf(d.out, "%v\n", err)
	}
}

// read reads a line; an interruption ends it.
func (d *dialog) read() (string, error) {
	type answer struct {
		line string
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		line, err := d.lines.ReadString('\n')
		read <- answer{line, err}
	}()
	select {
	case <-d.ctx.Done():
		return "", d.ctx.Err()
	case a := <-read:
		if errors.Is(a.err, io.EOF) {
			return "", context.Canceled
		}
		return a.line, a.err
	}
}

func (d *dialog) confirm(question string, standard bool) (bool, error) {
	word, yes := "no", false
	if standard {
		word = "yes"
	}
	err := d.ask(question, word, func(answer string) error {
		switch strings.ToLower(answer) {
		case "y", "yes":
			yes = true
		case "n", "no":
			yes = false
		default:
			return errors.New("answer yes or no")
		}
		return nil
	})
	return yes, err
}

// choose asks for what the flags leave open.
func (d *dialog) choose(found *setup.Found, options initOptions, chosen *setup.Options) error {
	if len(chosen.Take) > 0 && len(options.only) == 0 && len(options.exclude) == 0 {
		all := chosen.Take
		err := d.ask("Which servers shall programs use? Numbers such as 1,3-5, all, or none", "all", func(answer string) (err error) {
			chosen.Take, err = pick(answer, all)
			return err
		})
		if err != nil {
			return err
		}
	}
	var secrets []string
	for _, i := range chosen.Take {
		for _, secret := range found.Candidates[i].Secrets {
			secrets = append(secrets, found.Candidates[i].Server.Name+": "+secret.Key)
		}
	}
	if len(secrets) > 0 && !chosen.Variables {
		question := "What looks like a secret (" + strings.Join(secrets, ", ") + "): copy it into the configuration file, readable by you alone, or write variables in its place? copy or variables"
		err := d.ask(question, "copy", func(answer string) error {
			if answer != "copy" && answer != "variables" {
				return errors.New("answer copy or variables")
			}
			chosen.Variables = answer == "variables"
			return nil
		})
		if err != nil {
			return err
		}
	}
	if !options.registerAsked {
		err := d.ask("Register ptc-mcp in which client? "+strings.Join(clientNames(clients.All()), ", ")+", or none", likely(found), func(answer string) (err error) {
			chosen.Register = nil
			if answer != "none" {
				chosen.Register, err = clientsNamed("register", strings.FieldsFunc(answer, func(r rune) bool { return r == ',' || r == ' ' }))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if len(chosen.Register) > 0 && !chosen.TakeOver {
		var err error
		chosen.TakeOver, err = d.confirm("Stop the servers there that programs now reach through ptc-mcp, so that the model does not see their tools twice?", false)
		return err
	}
	return nil
}

func clientNames(list []*clients.Client) []string {
	var names []string
	for _, c := range list {
		names = append(names, c.Name)
	}
	return names
}

// likely is the client the user probably means: the first that has servers.
func likely(found *setup.Found) string {
	for _, s := range found.Sources {
		if s.Scope == clients.User {
			return s.Client.Name
		}
	}
	return "none"
}

// pick reads numbers, counted from 1, of the candidates that the table shows,
// among those that can be chosen.
func pick(answer string, choosable []int) ([]int, error) {
	switch strings.ToLower(answer) {
	case "all":
		return choosable, nil
	case "none":
		return nil, nil
	}
	var picked []int
	for _, item := range strings.FieldsFunc(answer, func(r rune) bool { return r == ',' || r == ' ' }) {
		from, to, isRange := strings.Cut(item, "-")
		first, err := strconv.Atoi(from)
		last := first
		if err == nil && isRange {
			last, err = strconv.Atoi(to)
		}
		if err != nil || first < 1 || last < first || last-first > 10_000 {
			return nil, fmt.Errorf("%q is no number of the table, and no range such as 3-5", item)
		}
		for n := first; n <= last; n++ {
			if !slices.Contains(choosable, n-1) {
				return nil, fmt.Errorf("number %d cannot be chosen", n)
			}
			if !slices.Contains(picked, n-1) {
				picked = append(picked, n-1)
			}
		}
	}
	slices.Sort(picked)
	return picked, nil
}
