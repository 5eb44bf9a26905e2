package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/config"
	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/executor"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/sandboxtest"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// contained is what a probe program sees in a sandbox that holds.
func contained() sighting {
	refused := attempt{Detail: "refused: Network is unreachable"}
	return sighting{Network: refused, Files: refused, System: refused, Processes: refused, UID: 65534, Python: "3.12.1"}
}

func TestWhatGetsThroughIsFoundAndRemedied(t *testing.T) {
	tests := []struct {
		name  string
		check string // that fails; empty for none
		leak  func(*sighting)
	}{
		{"nothing", "", func(*sighting) {}},
		{"a connection", "network", func(s *sighting) { s.Network.Reached = true }},
		{"a host file", "host files", func(s *sighting) { s.Files.Reached = true }},
		{"a system folder", "system folders", func(s *sighting) { s.System.Reached = true }},
		{"a host process", "host processes", func(s *sighting) { s.Processes.Reached = true }},
		{"the environment", "environment", func(s *sighting) { s.Environment = []string{"AWS_SECRET_ACCESS_KEY"} }},
		{"root", "user", func(s *sighting) { s.UID = 0 }},
	}
	for _, test := range tests {
		for isolated, through := range map[bool]Status{true: Fail, false: Warn} {
			seen := contained()
			test.leak(&seen)
			for _, f := range seen.judge(isolated) {
				want := OK
				if f.Check == test.check {
					want = through
				}
				if f.Status != want || f.Detail == "" || (f.Remedy == "") != (want == OK) {
					t.Errorf("%s gets through, isolated %v: %+v, want %s", test.name, isolated, f, want)
				}
			}
		}
	}
}

func TestBaitCanBeReachedWithoutASandboxAndIsRemoved(t *testing.T) {
	b, err := lay(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Addresses) == 0 || b.Port == 0 {
		t.Errorf("no address reaches the port: %+v", b)
	}
	if _, err := os.ReadFile(b.File); err != nil {
		t.Error(err)
	}
	source, err := b.program()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(source, b.File) || strings.Contains(source, `PARAMETERS = "{}"`) {
		t.Errorf("the program does not get the parameters:\n%s", source)
	}
	b.remove()
	if _, err := os.Stat(b.File); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is left: %v", err)
	}
}

// settled is a session in a fixed state.
type settled struct {
	name   string
	status downstream.Status
}

func (s settled) Name() string              { return s.name }
func (s settled) Status() downstream.Status { return s.status }
func (s settled) Settled() <-chan struct{} {
	done := make(chan struct{})
	if s.status.State != downstream.Connecting {
		close(done)
	}
	return done
}

func TestServersInEveryState(t *testing.T) {
	stdio := config.Server{Transport: config.Stdio, Command: "crm-mcp", ConnectTimeoutSeconds: 30, ListTimeoutSeconds: 30}
	remote := config.Server{Transport: config.HTTP, URL: "https://crm.example.com/mcp", ConnectTimeoutSeconds: 30, ListTimeoutSeconds: 30}
	two := []downstream.Tool{{Name: "a"}, {Name: "b"}}
	tests := []struct {
		name     string
		entry    config.Server
		status   downstream.Status
		callable int
		want     Status
		says     string
	}{
		{"connected", stdio, downstream.Status{State: downstream.Connected, Tools: two, Protocol: "2025-11-25", ServerName: "crm", ServerVersion: "2.0", ConnectDuration: 41 * time.Millisecond}, 2, OK, "2 tools in 41 ms; crm 2.0, MCP 2025-11-25"},
		{"partly filtered", stdio, downstream.Status{State: downstream.Connected, Tools: two}, 1, OK, "2 tools in 0 ms, 1 callable"},
		{"wholly filtered", stdio, downstream.Status{State: downstream.Connected, Tools: two}, 0, Warn, "tools.allow or tools.block leaves none"},
		{"without tools", stdio, downstream.Status{State: downstream.Connected}, 0, Warn, "leave it out of the configuration"},
		{"that cannot list", stdio, downstream.Status{State: downstream.Connected, Err: errors.New("tools/list: no answer")}, 0, Fail, "raise list_timeout_seconds"},
		{"not installed", stdio, downstream.Status{State: downstream.Down, Err: &exec.Error{Name: "crm-mcp", Err: exec.ErrNotFound}}, 0, Fail, "install crm-mcp, or give its full path"},
		{"that ended", stdio, downstream.Status{State: downstream.Down, Err: errors.New("process exited with code 1"), Stderr: "starting\nno API key\n"}, 0, Fail, "run crm-mcp by hand, with the arguments and env of its entry, and see why; if it is merely slow to start, raise connect_timeout_seconds; it wrote: no API key"},
		{"that is slow", stdio, downstream.Status{State: downstream.Down, Err: fmt.Errorf("connect: %w", context.DeadlineExceeded)}, 0, Fail, "raise connect_timeout_seconds"},
		{"far away", remote, downstream.Status{State: downstream.Down, Err: errors.New("connection refused")}, 0, Fail, "check url and headers"},
	}
	for _, test := range tests {
		test.entry.Name = "crm"
		s := Subject{
			Config:   &config.Config{Servers: []config.Server{test.entry}},
			Sessions: []Session{settled{"crm", test.status}},
			Callable: func() []tool.Server { return []tool.Server{{Name: "crm", Tools: test.callable}} },
		}
		f := examineServers(t.Context(), s)[0]
		if f.Status != test.want || !strings.Contains(f.Detail+" → "+f.Remedy, test.says) || (f.Remedy == "") != (f.Status == OK) {
			t.Errorf("a server %s: %+v; want %s, …%s…", test.name, f, test.want, test.says)
		}
	}
}

func TestSilentServerIsGivenUp(t *testing.T) {
	entry := config.Server{Name: "mute", Transport: config.Stdio, Command: "mute", ConnectTimeoutSeconds: -serverGrace.Seconds()}
	s := Subject{
		Config:   &config.Config{Servers: []config.Server{entry}},
		Sessions: []Session{settled{"mute", downstream.Status{State: downstream.Connecting}}},
		Callable: func() []tool.Server { return nil },
	}
	if f := examineServers(t.Context(), s)[0]; f.Status != Fail || f.Detail != "no answer in time" {
		t.Errorf("got %+v", f)
	}
}

func TestWrongConfigurationIsTheOnlyFinding(t *testing.T) {
	r := Examine(t.Context(), Subject{ConfigPath: "config.yaml", ConfigError: errors.New("config.yaml:3: execution.sandbocks: unknown key")})
	if r.OK || len(r.Findings) != 1 || !r.Failed(AreaConfiguration) || !strings.Contains(r.Findings[0].Detail, "sandbocks") {
		t.Errorf("got %+v", r)
	}
}

// failing is a runner whose sandbox does not start.
type failing struct{}

func (failing) Run(context.Context, executor.Request) *executor.Outcome {
	return &executor.Outcome{Error: &executor.Failure{Kind: executor.FailSandbox, Message: "the program was not run: docker: no such image; pull it: sandbox unavailable"}}
}

func TestSandboxesAreFoundWithTheirRemedies(t *testing.T) {
	unavailable := fmt.Errorf("docker: no engine answers; start one: %w", sandbox.ErrUnavailable)
	tests := []struct {
		name     string
		sandbox  string
		backends []sandbox.Backend
		inUse    string
		failed   bool
		says     []string
	}{
		{"none works", "auto", []sandbox.Backend{
			&sandboxtest.Fake{Label: "docker", Unavailable: unavailable}, &sandboxtest.Fake{Label: "none", Unconfined: true},
		}, "", true, []string{"fail docker: no engine answers → start one"}},
		{"the named one does not work", "docker", []sandbox.Backend{
			&sandboxtest.Fake{Label: "docker", Unavailable: unavailable}, &sandboxtest.Fake{Label: "native"},
		}, "", true, []string{"fail docker: no engine answers → start one", "ok native: available"}},
		{"the named one does not exist", "seatbelt", []sandbox.Backend{
			&sandboxtest.Fake{Label: "docker"},
		}, "", true, []string{`fail seatbelt: "seatbelt" is not available on this system → use auto or one of docker`, "ok docker: available"}},
		{"one works and its run fails", "auto", []sandbox.Backend{
			&sandboxtest.Fake{Label: "docker"}, &sandboxtest.Fake{Label: "none", Unconfined: true},
		}, "docker", true, []string{"ok docker: in use: in-memory fake", "no such image → pull it"}},
		{"the second works", "auto", []sandbox.Backend{
			&sandboxtest.Fake{Label: "docker", Unavailable: unavailable}, &sandboxtest.Fake{Label: "native"},
		}, "native", true, []string{"warn docker: no engine answers → start one", "ok native: in use: in-memory fake"}},
	}
	for _, test := range tests {
		s := Subject{
			Config:    &config.Config{Execution: config.Execution{Sandbox: test.sandbox}},
			Backends:  test.backends,
			NewRunner: func(sandbox.Backend) Runner { return failing{} },
			Callable:  func() []tool.Server { return nil },
		}
		r := Examine(t.Context(), s)
		if r.Sandbox != test.inUse || r.Failed(AreaSandbox) != test.failed {
			t.Errorf("%s: in use %q, failed %v: %+v", test.name, r.Sandbox, r.Failed(AreaSandbox), r.Findings)
		}
		var all strings.Builder
		for _, f := range r.Findings {
			fmt.Fprintf(&all, "%s %s: %s → %s\n", f.Status, f.Check, f.Detail, f.Remedy)
			if f.Status != OK && f.Remedy == "" {
				t.Errorf("%s: no remedy: %+v", test.name, f)
			}
		}
		for _, says := range test.says {
			if !strings.Contains(all.String(), says) {
				t.Errorf("%s: nothing says %q:\n%s", test.name, says, all.String())
			}
		}
	}
}

func TestWeakerLimitsAreWarnings(t *testing.T) {
	f := inUse("native", sandbox.Capabilities{Description: "native", Isolated: true, CPUs: true, Scratch: true}, "")
	if f.Status != Warn || !strings.Contains(f.Detail, "not limited as a whole: memory, processes") || f.Remedy == "" {
		t.Errorf("got %+v", f)
	}
}

func TestRemediesAreCutFromWhatBackendsSay(t *testing.T) {
	const fallback = "start a Docker engine, or set execution.sandbox to a backend that works here"
	for text, want := range map[string][2]string{
		"no engine answers: unix:///x; start one":          {"no engine answers: unix:///x", "start one"},
		"Memory is not limited. Use docker instead.":       {"Memory is not limited", "Use docker instead."},
		"no cgroup is writable: start ptc-mcp as root":     {"no cgroup is writable", "start ptc-mcp as root"},
		"no Python (3.9; or newer); install one\nline two": {"no Python (3.9; or newer)", "install one"},
		"no Python (3.9; or newer)":                        {"no Python (3.9; or newer)", fallback},
	} {
		if detail, remedy := divide(text, "; ", ". ", ": "); detail != want[0] || remedy != want[1] {
			t.Errorf("%q: got %q and %q", text, detail, remedy)
		}
	}
}
