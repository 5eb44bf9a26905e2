package doctor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/attack"
	"github.com/ptc-mcp/ptc-mcp/internal/executor"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

const (
	// attackTimeout bounds all attacks together; about 20 seconds are usual.
	attackTimeout = time.Minute
	// attacksAtOnce keeps the attacks that wait for a clock from holding up
	// the others.
	attacksAtOnce = 2
)

// AttackReport is what became of every packaged attack in one sandbox.
type AttackReport struct {
	// OK is true when all were contained, save what the sandbox is known not
	// to stop.
	OK      bool    `json:"ok"`
	Version string  `json:"version"`
	Sandbox string  `json:"sandbox"`
	Detail  string  `json:"detail"`
	Seconds float64 `json:"seconds"`
	// Attacks are sorted by name.
	Attacks []attack.Result `json:"attacks"`
}

// Attack runs every packaged attack in the sandbox that the configuration
// takes, with its limits. progress is told of each that has ended, from one
// goroutine at a time. An error means that no attack was made; it wraps
// sandbox.ErrUnavailable when that is for want of a sandbox.
func Attack(ctx context.Context, s Subject, progress func(done, all int, result attack.Result)) (*AttackReport, error) {
	if s.ConfigError != nil {
		return nil, s.ConfigError
	}
	selectCtx, cancel := context.WithTimeout(ctx, selectTimeout)
	defer cancel()
	backend, is, _, err := sandbox.Select(selectCtx, s.Config.Execution.Sandbox, s.Backends)
	if err != nil {
		return nil, err
	}
	if !is.Isolated {
		return nil, fmt.Errorf("%s contains nothing, and attacks in it would strike this machine; take another with --sandbox: %w", backend.Name(), sandbox.ErrUnavailable)
	}
	runner := s.NewRunner(backend)
	// The first run may have to wait for an image.
	readyCtx, cancel := context.WithTimeout(ctx, probeRunTimeout)
	defer cancel()
	if ready := runner.Run(readyCtx, executor.Request{Source: "pass"}); !ready.OK {
		return nil, fmt.Errorf("%s: %w", ready.Error.Message, sandbox.ErrUnavailable)
	}
	e := s.Config.Execution
	bait, err := attack.Lay(ctx, attack.Limits{
		MemoryBytes: int64(e.MaxMemoryBytes), ScratchBytes: int64(e.MaxScratchBytes),
		Processes: e.MaxProcesses, OpenFiles: e.MaxOpenFiles,
		ToolCalls: e.MaxToolCalls, OutputBytes: e.MaxOutputBytes,
	})
	if err != nil {
		return nil, err
	}
	defer bait.Remove()

	began := time.Now()
	report := &AttackReport{OK: true, Version: s.Version, Sandbox: backend.Name(), Detail: is.Description}
	report.Attacks = attackAll(ctx, runner, bait, is, progress)
	report.Seconds = time.Since(began).Seconds()
	for _, result := range report.Attacks {
		if result.Verdict != attack.Contained && result.Verdict != attack.Unclaimed {
			report.OK = false
		}
	}
	return report, ctx.Err()
}

var errAttackTime = errors.New("the time for all attacks was over")

func attackAll(ctx context.Context, runner Runner, bait *attack.Bait, is sandbox.Capabilities, progress func(done, all int, result attack.Result)) []attack.Result {
	ctx, cancel := context.WithTimeoutCause(ctx, attackTimeout, errAttackTime)
	defer cancel()
	attacks := attack.All()
	results := make([]attack.Result, len(attacks))
	next := make(chan int)
	go func() {
		defer close(next)
		for i := range attacks {
			next <- i
		}
	}()
	var mu sync.Mutex
	done := 0
	var wg sync.WaitGroup
	for range attacksAtOnce {
		wg.Go(func() {
			for i := range next {
				results[i] = attacks[i].Run(ctx, runner, bait, is)
				if results[i].Verdict == attack.Unclear && errors.Is(context.Cause(ctx), errAttackTime) {
					results[i].Seen = errAttackTime.Error()
				}
				mu.Lock()
				done++
				progress(done, len(attacks), results[i])
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return results
}
