package warm

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

func TestNothingIsBootedBeforeItMayBeNeeded(t *testing.T) {
	pooled(t, Config{Size: 2}, func(t *testing.T, p *Pool, m *memory) {
		wait(time.Hour)
		if m.started() != 0 {
			t.Errorf("%d booted before Prime", m.started())
		}
		prime(p)
		if p.Ready() != 2 || m.started() != 2 {
			t.Errorf("%d of %d are ready after Prime, want 2 of 2", p.Ready(), m.started())
		}
	})
}

func TestAWaitingSandboxIsHandedOutAtOnceWithAllItSaid(t *testing.T) {
	pooled(t, Config{Size: 1}, func(t *testing.T, p *Pool, m *memory) {
		prime(p)
		i, took := start(t, p)
		if took != 0 {
			t.Errorf("it took %v", took)
		}
		b := m.boxes[0]
		go func() {
			_, _ = io.WriteString(b.says, "frames")
			_, _ = io.WriteString(b.prints, "printed")
			b.end()
		}()
		output := make(chan string)
		go func() {
			all, _ := io.ReadAll(i.Output())
			output <- string(all)
		}()
		if frames, err := io.ReadAll(i.Channel()); err != nil || string(frames) != hello+"frames" {
			t.Errorf("the channel gave %q, %v", frames, err)
		}
		if got := <-output; got != "printed" {
			t.Errorf("the output gave %q", got)
		}
	})
}

func TestEachSandboxIsUsedOnce(t *testing.T) {
	pooled(t, Config{Size: 1, Max: 4}, func(t *testing.T, p *Pool, m *memory) {
		used := map[sandbox.Instance]bool{}
		for n := range 40 {
			i, _ := start(t, p)
			inner := i.(*instance).Instance
			if used[inner] {
				t.Fatal("a sandbox was handed out again")
			}
			used[inner] = true
			greeted(t, i)
			pass(time.Duration(n) * 7 * time.Millisecond)
			_ = i.Close()
			_ = i.Close()
		}
		if p.running+p.starting != 0 {
			t.Errorf("%d runs are counted after all have ended", p.running+p.starting)
		}
	})
}

func TestARunThatFindsNoneReadyWaitsNoLongerThanABoot(t *testing.T) {
	for name, test := range map[string]struct {
		head time.Duration // that a boot has had
		want time.Duration
	}{
		"nothing under way":                 {0, boot / 2},
		"a boot in its start":               {boot / 4, boot / 4},
		"a boot that waits for the hello":   {boot * 3 / 4, 0},
		"a boot that is stuck in its start": {adoptTimeout + boot, boot / 2},
	} {
		t.Run(name, func(t *testing.T) {
			pooled(t, Config{Size: 1}, func(t *testing.T, p *Pool, m *memory) {
				if test.head > boot {
					m.startTakes = time.Hour
				}
				if test.head > 0 {
					p.Prime(spec)
					wait(test.head)
				}
				m.startTakes = boot / 2
				i, took := start(t, p)
				if took != test.want {
					t.Errorf("it took %v, want %v", took, test.want)
				}
				greeted(t, i)
			})
		})
	}
}

func TestABootThatGetsStuckIsLeftToThePool(t *testing.T) {
	pooled(t, Config{Size: 1}, func(t *testing.T, p *Pool, m *memory) {
		m.startTakes = bootTimeout - time.Second
		p.Prime(spec)
		wait(time.Second)
		m.startTakes = boot / 2
		i, took := start(t, p)
		if want := adoptTimeout - time.Second + boot/2; took != want {
			t.Errorf("it took %v, want %v", took, want)
		}
		greeted(t, i)
		wait(bootTimeout)
		if p.Ready() == 0 {
			t.Error("the slow boot did not come to the pool")
		}
	})
}

func TestARunWhoseAdoptedBootFailsStartsItsOwn(t *testing.T) {
	pooled(t, Config{Size: 1}, func(t *testing.T, p *Pool, m *memory) {
		m.failWith(errBroken)
		p.Prime(spec)
		wait(boot / 4)
		if _, err := p.Start(t.Context(), spec); !errors.Is(err, errBroken) {
			t.Errorf("got %v, want the backend's error", err)
		}
		wait(boot)
		p.Prime(spec)
		wait(minRetry - boot)
		m.failWith(nil)
		i, _ := start(t, p)
		greeted(t, i)
		if p.running != 1 {
			t.Errorf("%d runs are counted, want 1", p.running)
		}
	})
}

func TestACancelledStartLeavesItsBootToThePool(t *testing.T) {
	pooled(t, Config{Size: 1, Max: 1}, func(t *testing.T, p *Pool, m *memory) {
		p.Prime(spec)
		wait(boot / 4)
		ctx, cancel := context.WithTimeout(t.Context(), boot/8)
		defer cancel()
		if _, err := p.Start(ctx, spec); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		wait(boot)
		if p.Ready() != 1 || len(m.alive()) != 1 || p.running+p.starting != 0 {
			t.Errorf("%d ready of %d alive, %d runs counted; want 1, 1, 0", p.Ready(), len(m.alive()), p.running+p.starting)
		}
	})
}

func TestAStartThatCannotBeIsRefusedAtOnce(t *testing.T) {
	pooled(t, Config{Size: 1}, func(t *testing.T, p *Pool, m *memory) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.Start(ended, spec); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that has ended: %v", err)
		}
		if _, err := p.Start(t.Context(), sandbox.Spec{Processes: -1}); err == nil {
			t.Error("an invalid Spec was accepted")
		}
		if wait(boot); m.started() != 0 {
			t.Errorf("%d were booted", m.started())
		}
	})
}

func TestOtherLimitsReplaceWhatIsWaiting(t *testing.T) {
	pooled(t, Config{Size: 2}, func(t *testing.T, p *Pool, m *memory) {
		prime(p)
		other := spec
		other.MemoryBytes *= 2
		i, err := p.Start(t.Context(), other)
		if err != nil {
			t.Fatal(err)
		}
		defer i.Close()
		wait(courtesy + 3*boot)
		if p.Ready() != 2 || len(m.alive()) != 3 {
			t.Errorf("%d ready, %d alive; want 2 and the one in use", p.Ready(), len(m.alive()))
		}
		for _, b := range m.alive() {
			if b.spec != other {
				t.Errorf("one of the old limits is left: %+v", b.spec)
			}
		}
	})
}

func TestAPoolOfNoneIsTheInnerBackend(t *testing.T) {
	pooled(t, Config{Size: 0, Max: 4}, func(t *testing.T, p *Pool, m *memory) {
		p.Prime(spec)
		i, err := p.Start(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		if i != sandbox.Instance(m.boxes[0]) {
			t.Error("it is not the inner backend's instance")
		}
		i.Close()
		if wait(time.Hour); m.started() != 1 {
			t.Errorf("%d were booted, want 1", m.started())
		}
	})
}

func TestCloseGivesUpWhatWaitsAndNotWhatIsInUse(t *testing.T) {
	pooled(t, Config{Size: 2}, func(t *testing.T, p *Pool, m *memory) {
		prime(p)
		i, _ := start(t, p)
		greeted(t, i)
		wait(courtesy + boot/4) // with a boot under way
		for range 2 {
			if err := p.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		}
		synctest.Wait()
		if alive := m.alive(); len(alive) != 1 || alive[0] != i.(*instance).Instance {
			t.Errorf("%d sandboxes live, want the one in use", len(alive))
		}
		if m.closed != 1 {
			t.Errorf("the inner backend was closed %d times", m.closed)
		}
		if _, err := p.Start(t.Context(), spec); !errors.Is(err, sandbox.ErrUnavailable) {
			t.Errorf("Start after Close: %v", err)
		}
		p.Prime(spec)
		i.Close()
		if wait(time.Hour); len(m.alive()) != 0 {
			t.Error("something was booted after Close")
		}
	})
}

func TestCloseIsBoundedWhenABootHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		m := &memory{onStart: func(context.Context) error {
			<-release
			return errBroken
		}}
		p := New(m, Config{Size: 1})
		p.Prime(spec)
		synctest.Wait()
		began := time.Now()
		if err := p.Close(); err == nil || time.Since(began) != closeTimeout {
			t.Errorf("Close gave %v after %v", err, time.Since(began))
		}
		close(release)
		synctest.Wait()
	})
}
