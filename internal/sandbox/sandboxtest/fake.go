package sandboxtest

import (
	"context"
	"io"
	"os"
	"sync"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// Fake is a sandbox.Backend in memory, for tests of what stands above a
// sandbox: its "runner" is a Go function. The zero value starts sandboxes that
// exit with code 0 at once.
type Fake struct {
	// Runner plays the sandbox's first process. Reads from channel give what
	// the host wrote; writes to channel and output reach the host. When it
	// returns, the sandbox has ended with that status and both streams end.
	// After Instance.Close its reads and writes fail, and it should return.
	Runner func(channel io.ReadWriter, output io.Writer) sandbox.ExitStatus
	// OnStart, if set, runs first in every Start; its error is Start's.
	OnStart func(ctx context.Context, spec sandbox.Spec) error
	// Unavailable, if set, is the error of Probe and Start.
	Unavailable error
	// Label is the backend's name; empty means "fake".
	Label string
	// Unconfined makes Capabilities.Isolated false.
	Unconfined bool

	mu      sync.Mutex
	started int
	open    int
}

// Name returns Label, or "fake".
func (f *Fake) Name() string {
	if f.Label == "" {
		return "fake"
	}
	return f.Label
}

// Probe claims every capability.
func (f *Fake) Probe(context.Context) (sandbox.Capabilities, error) {
	if f.Unavailable != nil {
		return sandbox.Capabilities{}, f.Unavailable
	}
	return sandbox.Capabilities{
		Description: "in-memory fake",
		Isolated:    !f.Unconfined,
		Memory:      true, CPUs: true, Processes: true, Scratch: true,
		OwnFiles: true, OwnDevices: true,
	}, nil
}

// Started returns how many sandboxes were started.
func (f *Fake) Started() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.started
}

// Open returns how many started sandboxes were not closed yet: not 0 after a
// test means a leak in what is tested.
func (f *Fake) Open() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open
}

// Start runs Runner in a goroutine of its own.
func (f *Fake) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Instance, error) {
	if f.Unavailable != nil {
		return nil, f.Unavailable
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if f.OnStart != nil {
		if err := f.OnStart(ctx, spec); err != nil {
			return nil, err
		}
	}
	i := &fakeInstance{ended: make(chan struct{})}
	i.closed = sync.OnceFunc(func() {
		i.end(sandbox.ExitStatus{Reason: sandbox.Killed, Code: -1, Signal: "SIGKILL"})
		i.host.Close()
		f.mu.Lock()
		f.open--
		f.mu.Unlock()
	})
	if err := i.connect(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.started++
	f.open++
	f.mu.Unlock()
	go func() {
		var status sandbox.ExitStatus
		if f.Runner != nil {
			status = f.Runner(i.sandbox, i.outputWriter)
		}
		i.end(status)
	}()
	return i, nil
}

// duplex joins the two pipe ends that one side of the channel holds.
type duplex struct {
	*os.File // reads
	w        *os.File
}

func (d duplex) Write(p []byte) (int, error) { return d.w.Write(p) }

// Close ends what the other side reads; the own side stays readable, as with
// a process whose standard input was closed.
func (d duplex) Close() error { return d.w.Close() }

type fakeInstance struct {
	host, sandbox              duplex
	outputReader, outputWriter *os.File

	once   sync.Once
	ended  chan struct{}
	status sandbox.ExitStatus
	closed func()
}

// connect uses kernel pipes, so that buffering, blocking and what stays
// readable after an end are those of a real sandbox.
func (i *fakeInstance) connect() error {
	var files [6]*os.File
	for n := 0; n < len(files); n += 2 {
		r, w, err := os.Pipe()
		if err != nil {
			for _, f := range files[:n] {
				f.Close()
			}
			return err
		}
		files[n], files[n+1] = r, w
	}
	i.sandbox.File, i.host.w = files[0], files[1]
	i.host.File, i.sandbox.w = files[2], files[3]
	i.outputReader, i.outputWriter = files[4], files[5]
	return nil
}

// end closes the sandbox's ends of all streams; the first status counts.
func (i *fakeInstance) end(status sandbox.ExitStatus) {
	i.once.Do(func() {
		i.status = status
		i.sandbox.File.Close()
		i.sandbox.w.Close()
		i.outputWriter.Close()
		close(i.ended)
	})
}

func (i *fakeInstance) Channel() io.ReadWriteCloser { return i.host }

func (i *fakeInstance) Output() io.Reader { return i.outputReader }

func (i *fakeInstance) Wait() (sandbox.ExitStatus, error) {
	<-i.ended
	return i.status, nil
}

func (i *fakeInstance) Close() error {
	i.closed()
	return nil
}
