package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/config"
	"github.com/ptc-mcp/ptc-mcp/internal/executor"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/sandboxtest"
)

func TestWhatWaitsHasTheLimitsThatRunsAskFor(t *testing.T) {
	cfg := config.Default()
	cfg.Execution.Sandbox = "docker"
	cfg.Execution.MaxProcesses = 17
	a, err := assemble(cfg, "1.2.3", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	specs := make(chan sandbox.Spec, 16)
	a.selection.candidates = []sandbox.Backend{&sandboxtest.Fake{
		Label: "docker",
		OnStart: func(_ context.Context, spec sandbox.Spec) error {
			specs <- spec
			return errors.New("recorded")
		},
	}}
	pool := a.keepWarm()
	pool.Prime(a.spec())
	primed := <-specs
	a.executor.Run(t.Context(), executor.Request{Source: "print(1)"})
	if run := <-specs; run != primed || run.Processes != 17 {
		t.Errorf("a run asks for %+v, what waits has %+v", run, primed)
	}
	if err := a.close(); err != nil {
		t.Error(err)
	}
}

// closing is a backend that counts how often it is closed.
type closing struct {
	sandboxtest.Fake
	mu     sync.Mutex
	closed int
}

func (c *closing) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed++
	return nil
}

func TestEveryCandidateIsClosedOnceWithThePoolAndWithout(t *testing.T) {
	for _, pooled := range []bool{false, true} {
		a, err := assemble(config.Default(), "1.2.3", slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		one, two := &closing{}, &closing{}
		a.selection.candidates = []sandbox.Backend{one, two}
		if pooled {
			a.keepWarm()
		}
		if err := a.close(); err != nil {
			t.Error(err)
		}
		if one.closed != 1 || two.closed != 1 {
			t.Errorf("pooled %t: closed %d and %d times", pooled, one.closed, two.closed)
		}
	}
}

func TestTheFirstBytesOfAClientAreToldOnce(t *testing.T) {
	told := 0
	f := &firstRead{r: strings.NewReader("messages"), then: func() { told++ }}
	if told != 0 {
		t.Error("told before anything was read")
	}
	if all, err := io.ReadAll(f); err != nil || string(all) != "messages" || told != 1 {
		t.Errorf("read %q, %v; told %d times", all, err, told)
	}
	f = &firstRead{r: strings.NewReader(""), then: func() { told++ }}
	if _, err := io.ReadAll(f); err != nil || told != 1 {
		t.Error("told of a client that said nothing")
	}
}
