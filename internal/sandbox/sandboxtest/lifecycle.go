package sandboxtest

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/ptc-mcp/ptc-mcp/images/runner"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// waiting says "ready" on the channel and then sleeps for good.
const waiting = `
import os, time
os.write(1, b"ready")
time.sleep(10000)
`

func lifeCycle(opts Options) []testCase {
	return []testCase{
		{"the runner says hello", func(s suite) {
			instance := s.start("", spec)
			hello := readHello(s, instance)
			if hello.Type != "hello" || hello.Runner != runner.Hash() {
				s.Errorf("got hello %+v, want runner %s", hello, runner.Hash())
			}
		}},
		{"a zero Spec means sensible defaults", func(s suite) {
			if e := s.run(`print("fine")`, sandbox.Spec{}); e.frames != "fine\n" {
				s.Errorf("got %+v", e)
			}
		}},
		{"an invalid Spec is refused", func(s suite) {
			if _, err := s.newBackend(s.T, waiting).Start(s.Context(), sandbox.Spec{Processes: -1}); err == nil {
				s.Error("no error")
			}
		}},
		{"a context that has ended starts nothing", func(s suite) {
			ctx, cancel := context.WithCancel(s.Context())
			cancel()
			if _, err := s.newBackend(s.T, waiting).Start(ctx, spec); !errors.Is(err, context.Canceled) {
				s.Errorf("got %v, want context.Canceled", err)
			}
		}},
		{"a context has no effect after Start", func(s suite) {
			ctx, cancel := context.WithCancel(s.Context())
			instance, err := s.newBackend(s.T, `print(input())`).Start(ctx, spec)
			if err != nil {
				s.Fatal(err)
			}
			defer s.close(instance)
			cancel()
			write(s, instance, "still here\n")
			s.expect(instance, "still here\n")
		}},
		{"a context cancelled at any moment of Start leaves nothing", func(s suite) { cancelDuringStart(s) }},
		{"Close right after Start", func(s suite) {
			instance := s.start(waiting, spec)
			s.close(instance)
			if e := s.finish(instance); e.status.Reason != sandbox.Killed {
				s.Errorf("got %v, want killed", e.status.Reason)
			}
		}},
		{"Close again and at the same time, during Wait", func(s suite) {
			instance := s.start(waiting, spec)
			s.expect(instance, "ready")
			var group sync.WaitGroup
			for range 4 {
				group.Go(func() {
					if status := s.wait(instance); status.Reason != sandbox.Killed {
						s.Errorf("got %v, want killed", status.Reason)
					}
				})
				group.Go(func() { s.close(instance) })
			}
			within(s.T, "all of them", group.Wait)
			s.close(instance)
		}},
		{"Close after the end keeps the status", func(s suite) {
			instance := s.start(`raise SystemExit(3)`, spec)
			s.finish(instance)
			s.close(instance)
			if status := s.wait(instance); status.Reason != sandbox.Exited || status.Code != 3 {
				s.Errorf("got %+v, want exit code 3", status)
			}
		}},
		{fmt.Sprintf("%d starts in parallel", opts.ParallelStarts), func(s suite) {
			backend := s.newBackend(s.T, `print(input())`)
			var group sync.WaitGroup
			for n := range opts.ParallelStarts {
				group.Go(func() {
					instance, err := backend.Start(s.Context(), spec)
					if err != nil {
						s.Errorf("start %d: %v", n, err)
						return
					}
					defer s.close(instance)
					write(s, instance, fmt.Sprintf("sandbox %d\n", n))
					if e := s.finish(instance); e.frames != fmt.Sprintf("sandbox %d\n", n) || e.status.Reason != sandbox.Exited {
						s.Errorf("sandbox %d answered %+v", n, e)
					}
				})
			}
			group.Wait()
		}},
	}
}

// cancelDuringStart cancels at moments spread over the time that one start
// takes here.
func cancelDuringStart(s suite) {
	backend := s.newBackend(s.T, waiting)
	began := time.Now()
	instance, err := backend.Start(s.Context(), spec)
	if err != nil {
		s.Fatal(err)
	}
	took := time.Since(began)
	s.close(instance)

	const moments = 12
	var group sync.WaitGroup
	for n := range moments {
		ctx, cancel := context.WithTimeout(s.Context(), took*time.Duration(n)/(moments-2))
		defer cancel()
		group.Go(func() {
			instance, err := backend.Start(ctx, spec)
			switch {
			case err == nil:
				s.close(instance)
			case !errors.Is(err, context.DeadlineExceeded):
				s.Errorf("got %v, want the context's error", err)
			}
		})
	}
	within(s.T, "all starts", group.Wait)
}

type hello struct {
	Type     string
	Protocol int
	Python   string
	Runner   string
}

// readHello reads the first frame: a 4-byte big-endian length, then JSON.
func readHello(s suite, instance sandbox.Instance) (h hello) {
	s.Helper()
	within(s.T, "hello", func() {
		var length [4]byte
		if _, err := io.ReadFull(instance.Channel(), length[:]); err != nil {
			s.Errorf("read the length of hello: %v", err)
			return
		}
		frame := make([]byte, min(binary.BigEndian.Uint32(length[:]), 4096))
		if _, err := io.ReadFull(instance.Channel(), frame); err != nil {
			s.Errorf("read hello: %v", err)
			return
		}
		if err := json.Unmarshal(frame, &h); err != nil {
			s.Errorf("decode hello %q: %v", frame, err)
		}
	})
	return h
}

func write(s suite, instance sandbox.Instance, text string) {
	s.Helper()
	if _, err := io.WriteString(instance.Channel(), text); err != nil {
		s.Errorf("write %q: %v", text, err)
	}
}
