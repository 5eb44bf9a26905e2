package warm

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/sandboxtest"
)

// echo says hello, then sends all it reads back on both streams.
func echo(channel io.ReadWriter, output io.Writer) sandbox.ExitStatus {
	if _, err := channel.Write([]byte(hello)); err != nil {
		return sandbox.ExitStatus{}
	}
	_, _ = io.Copy(io.MultiWriter(channel, output), struct{ io.Reader }{channel})
	return sandbox.ExitStatus{}
}

// primed waits, in real time, until a sandbox is ready.
func primed(t testing.TB, p *Pool) {
	t.Helper()
	p.Prime(spec)
	late := time.After(time.Minute)
	for tick := time.Tick(time.Millisecond); p.Ready() == 0; {
		select {
		case <-tick:
		case <-late:
			t.Fatal("no sandbox got ready within a minute")
		}
	}
}

// converse uses a sandbox of echo to its end.
func converse(i sandbox.Instance, say []byte) error {
	var reading sync.WaitGroup
	defer reading.Wait()
	var printed []byte
	reading.Go(func() { printed, _ = io.ReadAll(i.Output()) })
	reading.Go(func() {
		_, _ = i.Channel().Write(say)
		_ = i.Channel().Close()
	})
	sent, err := io.ReadAll(i.Channel())
	if err != nil {
		return err
	}
	reading.Wait()
	if want := slices.Concat([]byte(hello), say); !bytes.Equal(sent, want) {
		return fmt.Errorf("the channel gave %d bytes, or not those of %d", len(sent), len(want))
	}
	if !bytes.Equal(printed, say) {
		return fmt.Errorf("the output gave %d bytes, or not those of %d", len(printed), len(say))
	}
	return nil
}

func TestManyStartsAtOnceEachGetASandboxOfTheirOwn(t *testing.T) {
	fake := &sandboxtest.Fake{Runner: echo}
	p := New(fake, Config{Size: 2, Max: 8, Logger: slog.New(slog.DiscardHandler)})
	p.Prime(spec)
	const clients, runs = 64, 5
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for n := range runs {
				i, err := p.Start(t.Context(), spec)
				if err != nil {
					t.Error(err)
					return
				}
				if err := converse(i, fmt.Appendf(nil, "client %d, run %d", client, n)); err != nil {
					t.Errorf("client %d, run %d: %v", client, n, err)
				}
				if err := i.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := p.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if fake.Open() != 0 {
		t.Errorf("%d sandboxes are left", fake.Open())
	}
	// Boots that no run needed are few: the pool's own, and their replacements.
	if most := clients*runs + 100; fake.Started() < clients*runs || fake.Started() > most {
		t.Errorf("%d were booted for %d runs", fake.Started(), clients*runs)
	}
}

func TestStreamsOfAWaitingSandboxCarryEveryByte(t *testing.T) {
	fake := &sandboxtest.Fake{Runner: echo}
	p := New(fake, Config{Size: 1, Logger: slog.New(slog.DiscardHandler)})
	defer p.Close()
	for _, size := range []int{0, 1, aheadBytes - 1, aheadBytes, aheadBytes + 1, 8 << 20} {
		primed(t, p)
		i, err := p.Start(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		if err := converse(i, bytes.Repeat([]byte("x"), size)); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
		_ = i.Close()
	}
}

// BenchmarkAWaitingSandbox measures the way through the pool alone.
func BenchmarkAWaitingSandbox(b *testing.B) {
	fake := &sandboxtest.Fake{Runner: echo}
	p := New(fake, Config{Size: 1, Logger: slog.New(slog.DiscardHandler)})
	defer p.Close()
	var took time.Duration
	for b.Loop() {
		primed(b, p)
		began := time.Now()
		i, err := p.Start(b.Context(), spec)
		took += time.Since(began)
		if err != nil {
			b.Fatal(err)
		}
		_ = i.Close()
	}
	b.ReportMetric(float64(took.Microseconds())/float64(b.N), "µs/start")
}
