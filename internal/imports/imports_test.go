package imports

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/config"
	"github.com/ptc-mcp/ptc-mcp/internal/config/clients"
)

// account is an empty account with a project in it.
type account struct {
	t *testing.T
	clients.Place
}

func newAccount(t *testing.T) *account {
	root := t.TempDir()
	return &account{t, clients.Place{OS: "linux", Home: root, Folder: root, Getenv: func(string) string { return "" }}}
}

func (a *account) write(path, text string) {
	a.t.Helper()
	path = filepath.Join(a.Home, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		a.t.Fatal(err)
	}
	// At once, so that nobody sees half of it.
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		a.t.Fatal(err)
	}
}

func (a *account) files(cfg config.Config) *Files {
	a.t.Helper()
	files, err := New(a.Place, &cfg)
	if err != nil {
		a.t.Fatal(err)
	}
	files.share = 0
	files.lookup = func(name string) (string, bool) { return "value", name == "SET" }
	return files
}

func names(set Set) string {
	var names []string
	for _, s := range set.Servers {
		names = append(names, s.Name+"="+s.Command)
	}
	return strings.Join(names, " ")
}

func why(set Set, name string) string {
	i := slices.IndexFunc(set.Entries, func(e clients.Entry) bool { return e.Name == name })
	if i < 0 {
		return "no such entry"
	}
	return set.Entries[i].Problem
}

func TestEntriesBecomeServers(t *testing.T) {
	a := newAccount(t)
	a.write(".claude.json", `{"mcpServers": {
		"own": {"command": "imported"},
		"both": {"command": "user"},
		"needs": {"command": "x", "env": {"A": "${UNSET}", "B": "${SET}"}},
		"ptc": {"command": "ptc-mcp", "args": ["serve"]}}}`)
	a.write(".mcp.json", `{"mcpServers": {"both": {"command": "project"}}}`)
	a.write(".cursor/mcp.json", `{"mcpServers": {"b": {"command": "of-cursor", "args": ["${env:SET}"]}}}`)
	files := a.files(config.Config{
		Import:  []string{"claude-code", ".mcp.json", "cursor", "gemini"},
		Servers: []config.Server{config.NewServer("own")},
	})
	set := files.Read()
	if got, want := names(set), "both=project b=of-cursor"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := set.Servers[1].Args[0]; got != "value" {
		t.Errorf("the variable is %q", got)
	}
	for name, want := range map[string]string{
		"own":   "is hidden by the server of that name in the configuration file",
		"needs": `env.A: server "needs": variable UNSET is not set; set it, or give a default: ${UNSET:-default}`,
		"ptc":   "is ptc-mcp itself",
	} {
		if got := why(set, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if len(set.Problems) > 0 {
		t.Errorf("problems: %v", set.Problems)
	}
}

func TestAProjectsFileIsReadOnlyWhereItIsNamed(t *testing.T) {
	a := newAccount(t)
	a.Folder = filepath.Join(a.Home, "project")
	a.write("project/.mcp.json", `{"mcpServers": {"p": {"command": "p"}}}`)
	a.write("project/.cursor/mcp.json", `{"mcpServers": {"q": {"command": "q"}}}`)
	if got := names(a.files(config.Config{Import: config.Clients()}).Read()); got != "" {
		t.Errorf("taken without being named: %s", got)
	}
	if got := names(a.files(config.Config{Import: []string{".mcp.json", ".cursor/mcp.json"}}).Read()); got != "p=p q=q" {
		t.Errorf("got %q", got)
	}
}

func TestChangesAreFollowed(t *testing.T) {
	a := newAccount(t)
	files := a.files(config.Config{Import: []string{"claude-code", "windsurf"}})
	before := files.Read()
	sets := make(chan Set, 10)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		files.follow(ctx, before, 5*time.Millisecond, func(s Set) { sets <- s })
	}()
	defer func() { cancel(); <-done }()
	next := func(want string, problem string) {
		t.Helper()
		select {
		case set := <-sets:
			if got := names(set); got != want {
				t.Errorf("servers %q, want %q", got, want)
			}
			if got := strings.Join(set.Problems, "\n"); (got == "") != (problem == "") || !strings.Contains(got, problem) {
				t.Errorf("problems %q, want %q", got, problem)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("no change was seen")
		}
	}
	a.write(".claude.json", `{"mcpServers": {"a": {"command": "1"}}}`)
	next("a=1", "")
	a.write(".claude.json", `{"mcpServers": {"a": {"command": "2"}}, "numStartups": 3}`)
	next("a=2", "")
	a.write(".claude.json", `{"mcpServers": {"a": {"comma`)
	next("a=2", ".claude.json:1:29: not valid JSON")
	a.write(".claude.json", `{"mcpServers": {"b": {"command": "3"}}}`)
	next("b=3", "")

	// A folder that was not there, and a file written in place.
	a.write(".codeium/windsurf/mcp_config.json", `{"mcpServers": {"w": {"command": "4"}}}`)
	next("b=3 w=4", "")
	file, err := os.OpenFile(filepath.Join(a.Home, ".claude.json"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt([]byte(`{"mcpServers": {"c": {"command": "5"}}}`), 0); err != nil {
		t.Fatal(err)
	}
	next("c=5 w=4", "")
	if err := os.Remove(filepath.Join(a.Home, ".claude.json")); err != nil {
		t.Fatal(err)
	}
	next("w=4", "")
}

func TestWhatIsNotThereAtTheFirstLookMayBeAtTheSecond(t *testing.T) {
	a := newAccount(t)
	a.write(".mcp.json", `{"mcpServers": {"a": {"command": "1"}}}`)
	files := a.files(config.Config{Import: []string{".mcp.json"}})
	set := files.Read()

	// Half of a file, as a program that writes it in place leaves it for a
	// moment, changes nothing.
	a.write(".mcp.json", `{"mcpServers": {"a": {"command": "1"}`)
	set, news := files.refresh(set)
	if news || names(set) != "a=1" || len(set.Problems) > 0 {
		t.Errorf("the first look: news %v, %s, %v", news, names(set), set.Problems)
	}
	a.write(".mcp.json", `{"mcpServers": {"a": {"command": "1"}, "b": {"command": "2"}}}`)
	set, news = files.refresh(set)
	if !news || names(set) != "a=1 b=2" {
		t.Errorf("the second look: news %v, %s", news, names(set))
	}
}

func TestOtherChangesOfAFileAreNoNews(t *testing.T) {
	a := newAccount(t)
	a.write(".claude.json", `{"numStartups": 1, "mcpServers": {"a": {"command": "1"}}}`)
	files := a.files(config.Config{Import: []string{"claude-code"}})
	set := files.Read()
	a.write(".claude.json", `{"numStartups": 20, "mcpServers": {"a": {"command": "1"}}}`)
	if _, news := files.refresh(set); news {
		t.Error("a change that is not about servers is news")
	}
}

func TestAFileBrokenFromTheStartIsAProblemOfItsOwn(t *testing.T) {
	a := newAccount(t)
	a.write(".mcp.json", "{")
	a.write(".cursor/mcp.json", `{"mcpServers": {"b": {"command": "1"}}}`)
	set := a.files(config.Config{Import: []string{".mcp.json", "cursor"}}).Read()
	if names(set) != "b=1" || len(set.Problems) != 1 || strings.Contains(set.Problems[0], "before") {
		t.Errorf("%s, %v", names(set), set.Problems)
	}
}
