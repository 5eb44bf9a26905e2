package warm

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// memory is a backend whose sandboxes are made of nothing but channels, so that
// tests can have a clock of their own (sandboxtest.Fake uses the kernel's
// pipes, for which such a clock would stand still).
type memory struct {
	startTakes, greetTakes time.Duration
	// onStart, if set, is asked in every Start; its error is Start's.
	onStart func(ctx context.Context) error
	// greeting replaces a frame as the first thing a sandbox says.
	greeting string

	mu     sync.Mutex
	boxes  []*box
	starts []time.Time
	closed int
}

func (m *memory) Name() string { return "memory" }

func (m *memory) Probe(context.Context) (sandbox.Capabilities, error) {
	return sandbox.Capabilities{Description: "in memory", Isolated: true}, nil
}

func (m *memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed++
	return nil
}

func (m *memory) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Instance, error) {
	m.mu.Lock()
	m.starts = append(m.starts, time.Now())
	onStart := m.onStart
	m.mu.Unlock()
	select {
	case <-time.After(m.startTakes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if onStart != nil {
		if err := onStart(ctx); err != nil {
			return nil, err
		}
	}
	b := &box{spec: spec, ended: make(chan struct{})}
	b.reads, b.says = io.Pipe()
	b.printed, b.prints = io.Pipe()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.boxes = append(m.boxes, b)
	go func() {
		select {
		case <-time.After(m.greetTakes):
			greeting := m.greeting
			if greeting == "" {
				greeting = hello
			}
			_, _ = io.WriteString(b.says, greeting)
		case <-b.ended:
		}
	}()
	return b, nil
}

// started returns how many Starts there were.
func (m *memory) started() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.starts)
}

// alive returns the sandboxes that have not ended.
func (m *memory) alive() []*box {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(m.boxes), func(b *box) bool {
		select {
		case <-b.ended:
			return true
		default:
			return false
		}
	})
}

func (m *memory) failWith(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.onStart = nil
	if err != nil {
		m.onStart = func(context.Context) error { return err }
	}
}

// box is one sandbox of memory.
type box struct {
	spec    sandbox.Spec
	reads   *io.PipeReader // the host's ends
	printed *io.PipeReader
	says    *io.PipeWriter // the sandbox's
	prints  *io.PipeWriter
	once    sync.Once
	ended   chan struct{}
}

func (b *box) Read(p []byte) (int, error)  { return b.reads.Read(p) }
func (b *box) Write(p []byte) (int, error) { return len(p), nil }
func (b *box) Channel() io.ReadWriteCloser { return replayed{b.reads, b} }
func (b *box) Output() io.Reader           { return b.printed }
func (b *box) Close() error                { b.end(); return nil }
func (b *box) end()                        { b.once.Do(func() { b.says.Close(); b.prints.Close(); close(b.ended) }) }
func (b *box) Wait() (sandbox.ExitStatus, error) {
	<-b.ended
	return sandbox.ExitStatus{Reason: sandbox.Killed}, nil
}

// frame is what a runner sends.
func frame(body string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(body)))) + body
}

var hello = frame(`{"type":"hello"}`)

// spec is what the tests ask for.
var spec = sandbox.Spec{MemoryBytes: 64 << 20, CPUs: 1}

// boot is how long a sandbox of pooled takes, half of it in Start.
const boot = 100 * time.Millisecond

// pooled runs a test with a pool over memory, and a clock that moves only when
// nothing else can. Nothing may be left when the pool is closed.
func pooled(t *testing.T, config Config, test func(t *testing.T, p *Pool, m *memory)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{startTakes: boot / 2, greetTakes: boot / 2}
		config.Logger = slog.New(slog.DiscardHandler)
		p := New(m, config)
		p.boots = 2
		t.Cleanup(func() { // after those of the test
			if err := p.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			synctest.Wait()
			if left := len(m.alive()); left != 0 {
				t.Errorf("%d sandboxes are left", left)
			}
		})
		test(t, p, m)
	})
}

// prime has the pool boot, and waits until it has.
func prime(p *Pool) {
	p.Prime(spec)
	wait(2 * boot)
}

// pass lets time pass, the test's own.
func pass(d time.Duration) { <-time.After(d) }

// wait lets time pass and everything due happen.
func wait(d time.Duration) {
	pass(d)
	synctest.Wait()
}

// start takes a sandbox, says how long that took, and closes it at the end of
// the test.
func start(t *testing.T, p *Pool) (sandbox.Instance, time.Duration) {
	t.Helper()
	began := time.Now()
	i, err := p.Start(t.Context(), spec)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(func() { _ = i.Close() })
	return i, time.Since(began)
}

// greeted reads the first frame of a sandbox.
func greeted(t *testing.T, i sandbox.Instance) {
	t.Helper()
	got := make([]byte, len(hello))
	if _, err := io.ReadFull(i.Channel(), got); err != nil || string(got) != hello {
		t.Errorf("greeted with %q, %v; want %q", got, err, hello)
	}
}

var errBroken = errors.New("no engine")
