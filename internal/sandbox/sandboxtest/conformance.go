package sandboxtest

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// New makes the backend under test. program is a Python program to boot with
// `python3 -I -S -B -c` in place of the runner; empty means the runner. What
// the backend leaves to be closed is closed by t.Cleanup.
type New func(t *testing.T, program string) sandbox.Backend

// Options adapts the suite to a backend.
type Options struct {
	// ParallelStarts is how many sandboxes start at once; 0 means 50.
	ParallelStarts int
	// Leftovers, if set, lists what the backend under test has not removed:
	// containers, processes, folders. It is asked after every case, when all
	// its sandboxes and backends were closed.
	Leftovers func(t *testing.T) []string
	// Omit names cases that ask for what this backend refuses by design, such
	// as starting processes, each with the reason. A name that no case has
	// fails the suite.
	Omit map[string]string
}

// Run holds a backend against the contract of package sandbox. What a backend
// does not claim in its Capabilities is not asked of it.
func Run(t *testing.T, newBackend New, opts Options) {
	if opts.ParallelStarts == 0 {
		opts.ParallelStarts = 50
	}
	groups := [][]testCase{lifeCycle(opts), streams(), ends(), limits(), isolation()}
	unknown := maps.Clone(opts.Omit)
	for _, group := range groups {
		for _, c := range group {
			if reason, omit := opts.Omit[c.name]; omit {
				delete(unknown, c.name)
				t.Logf("left out: %s: %s", c.name, reason)
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				if opts.Leftovers != nil {
					// Registered first, so that it runs after the backends' own.
					t.Cleanup(func() {
						for _, left := range opts.Leftovers(t) {
							t.Errorf("left behind: %s", left)
						}
					})
				}
				c.run(suite{t, newBackend})
			})
		}
	}
	for name := range unknown {
		t.Errorf("there is no case %q to leave out", name)
	}
}

type testCase struct {
	name string
	run  func(s suite)
}

// suite is one case under way.
type suite struct {
	*testing.T
	newBackend New
}

// patience bounds every wait of the suite: far more than anything takes, so
// that only a real hang reaches it.
const patience = 60 * time.Second

// spec is small, and enough for every program of the suite that does not test
// a limit.
var spec = sandbox.Spec{
	MemoryBytes:  128 << 20,
	CPUs:         1,
	Processes:    32,
	ScratchBytes: 8 << 20,
	OpenFiles:    128,
}

// capabilities says what the backend claims.
func (s suite) capabilities() sandbox.Capabilities {
	s.Helper()
	c, err := s.newBackend(s.T, "").Probe(s.Context())
	if err != nil {
		s.Fatalf("Probe: %v", err)
	}
	return c
}

// start boots a program and closes its sandbox when the case is over.
func (s suite) start(program string, limits sandbox.Spec) sandbox.Instance {
	s.Helper()
	instance, err := s.newBackend(s.T, program).Start(s.Context(), limits)
	if err != nil {
		s.Fatalf("Start: %v", err)
	}
	s.Cleanup(func() { s.close(instance) })
	return instance
}

func (s suite) close(instance sandbox.Instance) {
	s.Helper()
	within(s.T, "Close", func() {
		if err := instance.Close(); err != nil {
			s.Errorf("Close: %v", err)
		}
	})
}

// ended is everything a sandbox gave until it ended.
type ended struct {
	frames, output string
	status         sandbox.ExitStatus
}

// finish reads both streams to their end and waits.
func (s suite) finish(instance sandbox.Instance) ended {
	s.Helper()
	var e ended
	within(s.T, "the sandbox's end", func() {
		var frames, output bytes.Buffer
		var reading sync.WaitGroup
		reading.Go(func() {
			if _, err := io.Copy(&frames, instance.Channel()); err != nil {
				s.Errorf("read channel: %v", err)
			}
		})
		reading.Go(func() {
			if _, err := io.Copy(&output, instance.Output()); err != nil {
				s.Errorf("read output: %v", err)
			}
		})
		reading.Wait()
		e.frames, e.output = frames.String(), output.String()
		e.status = s.wait(instance)
	})
	return e
}

func (s suite) wait(instance sandbox.Instance) sandbox.ExitStatus {
	s.Helper()
	status, err := instance.Wait()
	if err != nil {
		s.Errorf("Wait: %v", err)
	}
	return status
}

// run boots a program and finishes it.
func (s suite) run(program string, limits sandbox.Spec) ended {
	s.Helper()
	return s.finish(s.start(program, limits))
}

// expect reads exactly this text from the channel.
func (s suite) expect(instance sandbox.Instance, text string) {
	s.Helper()
	within(s.T, fmt.Sprintf("%q on the channel", text), func() {
		got := make([]byte, len(text))
		n, err := io.ReadFull(instance.Channel(), got)
		if err != nil || string(got) != text {
			s.Errorf("read %q from the channel (%v), want %q", got[:n], err, text)
		}
	})
}

// within fails the test when f takes longer than patience. The goroutine is
// then left behind; the test is over anyway.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("waited %v in vain for %s", patience, what)
	}
}
