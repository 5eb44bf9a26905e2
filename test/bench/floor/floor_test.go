package floor

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// What the probes measure is not judged, only that each does its work: a figure
// of zero, or an error, is a probe that measures nothing.

func took(t *testing.T, name string, d time.Duration, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", name, err)
	} else if d <= 0 {
		t.Errorf("%s took %v", name, d)
	}
}

var processes = Processes{Python: "python3"}

func TestThePeerDoesWhatItIsTold(t *testing.T) {
	p, err := NewPeer(t.Context(), processes)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 2 { // one order leaves nothing that disturbs the next
		d, err := p.Calls(50, true)
		took(t, "calls in an event loop", d, err)
		d, err = p.Calls(50, false)
		took(t, "blocking calls", d, err)
		d, err = p.Gather(500)
		took(t, "calls at once", d, err)
		d, err = p.Take(3 << 20)
		took(t, "a large frame", d, err)
		d, err = p.Run("print(1)")
		took(t, "a program", d, err)
	}
}

func TestAPeerThatDoesNotStartIsAnError(t *testing.T) {
	if p, err := NewPeer(t.Context(), Processes{Python: "false"}); err == nil {
		p.Close()
		t.Error("no error")
	}
}

func TestStarts(t *testing.T) {
	d, err := FirstByte(t.Context(), processes, Bare)
	took(t, "the first byte", d, err)
	d, err = WholeLife(t.Context(), processes, Bare)
	took(t, "the whole life", d, err)
	rate, err := Rate(t.Context(), processes, 2, 300*time.Millisecond)
	if err != nil || rate <= 0 {
		t.Errorf("%v starts a second, %v", rate, err)
	}
}

func TestTheBareClientOfAServer(t *testing.T) {
	server := filepath.Join(t.TempDir(), "ptc-testserver")
	if out, err := exec.Command("go", "build", "-o", server, "github.com/ptc-mcp/ptc-mcp/test/servers/ptc-testserver").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	m, err := NewMCP(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	took(t, "the start", m.Start, nil)
	d, err := m.Echo(t.Context(), 100, 1)
	took(t, "calls in turn", d, err)
	d, err = m.Echo(t.Context(), 1003, 64)
	took(t, "calls at once", d, err)
	for _, size := range []int{0, 1000, 64 << 10, 5 << 20} {
		d, err = m.Blob(t.Context(), size)
		took(t, "a result", d, err)
	}
	if _, err := m.Request(t.Context(), "no/such/method", "{}"); err == nil {
		t.Error("an error of the server is none")
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if _, err := m.Request(t.Context(), "ping", "{}"); err == nil {
		t.Error("a server that has ended answers")
	}
}

func TestTheKernelsPart(t *testing.T) {
	s, err := NewSyscalls(t.Context(), t.TempDir())
	if errors.Is(err, ErrNoCompiler) {
		t.Fatalf("%v: the race detector needs one as well", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range [][]string{{"fork"}, {"pipe"}, {"exec", "echo"}} {
		rounds, err := s.Rounds(t.Context(), what[0], 5, what[1:]...)
		if err != nil || len(rounds) != 5 || rounds[0] <= 0 {
			t.Errorf("%s: %v, %v", what[0], rounds, err)
		}
	}
	if rounds, err := s.Rounds(t.Context(), "nonsense", 1); err == nil {
		t.Errorf("an unknown probe measured %v", rounds)
	}
}
