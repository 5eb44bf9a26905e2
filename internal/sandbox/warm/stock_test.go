package warm

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTheNextBootWaitsForTheRunToEndButNotForALongOne(t *testing.T) {
	for name, test := range map[string]struct{ run, want time.Duration }{
		"a short run": {30 * time.Millisecond, 30 * time.Millisecond},
		"a long run":  {time.Minute, courtesy},
	} {
		t.Run(name, func(t *testing.T) {
			pooled(t, Config{Size: 1}, func(t *testing.T, p *Pool, m *memory) {
				prime(p)
				began := time.Now()
				i, _ := start(t, p)
				wait(test.run)
				i.Close()
				wait(time.Second)
				if got := m.starts[1].Sub(began); len(m.starts) != 2 || got != test.want {
					t.Errorf("%d boots, the second after %v; want %v", len(m.starts), got, test.want)
				}
			})
		})
	}
}

func TestRunsBackToBackDoNotStarve(t *testing.T) {
	for name, run := range map[string]time.Duration{"short ones": time.Millisecond, "longer than a boot": 3 * boot} {
		t.Run(name, func(t *testing.T) {
			pooled(t, Config{Size: 1, Max: 4}, func(t *testing.T, p *Pool, m *memory) {
				prime(p)
				const runs = 50
				began := time.Now()
				for range runs {
					i, _ := start(t, p)
					greeted(t, i)
					pass(run)
					i.Close()
				}
				// As if boots were all there is, four at once, but for the
				// beginning.
				if took, most := time.Since(began), 4*boot+runs*max(boot/4, run)*11/10; took > most {
					t.Errorf("%d runs took %v, want at most %v", runs, took, most)
				}
			})
		})
	}
}

func TestBootsAreFewAtOnce(t *testing.T) {
	pooled(t, Config{Size: 10}, func(t *testing.T, p *Pool, m *memory) {
		p.Prime(spec)
		if wait(boot / 2); m.started() != 2 {
			t.Errorf("%d boots at once, want 2", m.started())
		}
		if wait(6 * boot); p.Ready() != 10 {
			t.Errorf("%d are ready, want 10", p.Ready())
		}
	})
}

func TestThePoolGrowsWithDemandAndShrinksWithoutIt(t *testing.T) {
	pooled(t, Config{Size: 1, Max: 4, IdleAfter: time.Minute}, func(t *testing.T, p *Pool, m *memory) {
		prime(p)
		burst := func(n int) {
			for range n {
				i, _ := start(t, p)
				defer i.Close()
			}
		}
		settled := func(want int) {
			t.Helper()
			if wait(time.Second); p.Ready() != want || len(m.alive()) != want {
				t.Errorf("%d are ready of %d, want %d", p.Ready(), len(m.alive()), want)
			}
		}
		settled(1)
		burst(1)
		settled(1)
		burst(2)
		settled(2)
		burst(9)
		settled(4)
		wait(50 * time.Second)
		settled(4)
		burst(2) // needs two of the four
		wait(20 * time.Second)
		settled(2)
		wait(2 * time.Minute)
		settled(1)
	})
}

func TestAnUnusedPoolSleepsUntilTheNextProgram(t *testing.T) {
	pooled(t, Config{Size: 2, MaxAge: 10 * time.Minute}, func(t *testing.T, p *Pool, m *memory) {
		prime(p)
		wait(9 * time.Minute)
		if p.Ready() != 2 {
			t.Fatalf("%d are ready after nine minutes, want 2", p.Ready())
		}
		if wait(time.Hour); len(m.alive()) != 0 || m.started() != 2 {
			t.Errorf("%d live of %d started after an hour, want 0 of 2", len(m.alive()), m.started())
		}
		i, took := start(t, p)
		if took != boot/2 {
			t.Errorf("the next start took %v, want a boot", took)
		}
		greeted(t, i)
		wait(20 * time.Minute) // a run is not idleness
		i.Close()
		if p.Ready() != 2 {
			t.Errorf("%d are ready, want 2", p.Ready())
		}
	})
}

func TestOldSandboxesAreReplacedOneAtATime(t *testing.T) {
	pooled(t, Config{Size: 3, MaxAge: 10 * time.Minute}, func(t *testing.T, p *Pool, m *memory) {
		prime(p)
		wait(9 * time.Minute)
		first := m.alive()
		i, _ := start(t, p) // so that the others get old while the pool is in use
		i.Close()
		wait(2 * boot)
		for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); wait(boot / 4) {
			if waiting, alive := p.Ready(), len(m.alive()); waiting < 3 || alive > 4 {
				t.Fatalf("%d are ready, %d live; want 3, and one more while it boots", waiting, alive)
			}
		}
		for _, b := range first {
			if slices.Contains(m.alive(), b) {
				t.Error("one of the first is still there after eleven minutes")
			}
		}
		if m.started() != 6 {
			t.Errorf("%d were booted, want 6", m.started())
		}
	})
}

func TestASandboxThatIsNotAsItShouldBeIsDroppedAndReplaced(t *testing.T) {
	for name, spoil := range map[string]func(b *box){
		"it ends":                    func(b *box) { b.end() },
		"it closes its channel":      func(b *box) { b.says.Close() },
		"it closes its output":       func(b *box) { b.prints.Close() },
		"it prints":                  func(b *box) { _, _ = io.WriteString(b.prints, "warning") },
		"it sends something unasked": func(b *box) { _, _ = io.WriteString(b.says, frame("{}")) },
	} {
		t.Run(name, func(t *testing.T) {
			pooled(t, Config{Size: 1}, func(t *testing.T, p *Pool, m *memory) {
				prime(p)
				go spoil(m.boxes[0])
				wait(time.Millisecond)
				if p.Ready() != 0 || len(m.alive()) != 0 {
					t.Errorf("%d ready, %d alive; want none", p.Ready(), len(m.alive()))
				}
				if wait(minRetry + boot); p.Ready() != 1 || m.started() != 2 {
					t.Errorf("%d of %d are ready, want 1 of 2", p.Ready(), m.started())
				}
			})
		})
	}
}

func TestASandboxThatGreetsWronglyIsNeverReady(t *testing.T) {
	for name, greeting := range map[string]string{
		"no frame":        "Traceback (most recent call last)",
		"a large one":     frame(strings.Repeat("x", maxFirstBytes+1)),
		"more than one":   hello + hello,
		"half a one only": hello[:len(hello)-1],
	} {
		t.Run(name, func(t *testing.T) {
			pooled(t, Config{Size: 1}, func(t *testing.T, p *Pool, m *memory) {
				m.greeting = greeting
				prime(p)
				if p.Ready() != 0 {
					t.Error("it is ready")
				}
				wait(5 * time.Minute)
				if tried := m.started(); tried > 15 {
					t.Errorf("booted %d times in five minutes", tried)
				}
				if len(greeting) < len(hello) {
					return // the rest never comes
				}
				// A run is given the same bytes, to judge for itself.
				p.Prime(spec)
				i, _ := start(t, p)
				got := make([]byte, len(greeting))
				if _, err := io.ReadFull(i.Channel(), got); err != nil || string(got) != greeting {
					t.Errorf("a run reads %q, %v", got, err)
				}
			})
		})
	}
}

func TestABackendThatFailsIsTriedLessAndLessUntilAStartSucceeds(t *testing.T) {
	pooled(t, Config{Size: 2, MaxAge: time.Hour}, func(t *testing.T, p *Pool, m *memory) {
		m.failWith(errBroken)
		p.Prime(spec)
		wait(30 * time.Minute)
		if tried := m.started(); tried < 20 || tried > 80 {
			t.Errorf("tried %d times in half an hour", tried)
		}
		m.failWith(nil)
		i, _ := start(t, p)
		i.Close()
		if wait(3 * boot); p.Ready() != 2 {
			t.Errorf("%d are ready soon after a start succeeded, want 2", p.Ready())
		}
	})
}

func TestSandboxesThatDieSoonAreNotBootedAgainAndAgain(t *testing.T) {
	pooled(t, Config{Size: 1, MaxAge: time.Hour}, func(t *testing.T, p *Pool, m *memory) {
		p.Prime(spec)
		for range 10 * 60 * 10 {
			wait(100 * time.Millisecond)
			for _, b := range m.alive() {
				if p.Ready() == 1 {
					b.end()
				}
			}
		}
		if tried := m.started(); tried > 20 {
			t.Errorf("booted %d times in ten minutes", tried)
		}
	})
}
