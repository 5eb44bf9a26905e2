package executor

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/channel"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

const (
	// openCalls is how many unanswered calls the host accepts at once; the
	// runner queues the rest.
	openCalls = 4096
	// maxFrameBytes bounds one frame from the sandbox, and so the arguments of
	// one call.
	maxFrameBytes = 16 << 20
	// outputGrace is how long the end of the output may lag behind done when
	// its marker does not come, because the program closed the stream.
	outputGrace = 3 * time.Second
	// callGrace is how long cancelled calls may take to return before the run
	// is reported without them.
	callGrace = 100 * time.Millisecond
	// exitGrace is how long a sandbox that closed its channel may take to end.
	exitGrace = 2 * time.Second
)

// Executor runs programs, each in a sandbox of its own. It is safe for
// concurrent use.
type Executor struct {
	backend sandbox.Backend
	caller  ToolCaller
	limits  Limits
	log     *slog.Logger
	ended   ended
}

// New returns an Executor that takes sandboxes from backend and passes calls to
// caller.
func New(backend sandbox.Backend, caller ToolCaller, limits Limits, logger *slog.Logger) *Executor {
	return &Executor{backend: backend, caller: caller, limits: limits, log: logger}
}

// Close closes the sandboxes of runs that have ended; it returns nil. A Run after
// it works as before.
func (e *Executor) Close() error {
	e.ended.close()
	return nil
}

// Run runs one program to its end, whatever that is. It never returns nil; an
// unusable sandbox and a cancelled ctx are Outcomes too. The sandbox of a
// program that was done is closed within milliseconds, or by the next Run or
// Close, whichever is first.
func (e *Executor) Run(ctx context.Context, req Request) *Outcome {
	// Their successors are booted while there is nothing else to do, rather than
	// beside this run.
	e.ended.close()
	r := e.newRun(req)
	r.log.Info("run starts", "source_sha256", fmt.Sprintf("%x", sha256.Sum256([]byte(req.Source))), "source_bytes", len(req.Source))
	failure := r.execute(ctx)
	o := r.outcome(failure)
	log := r.log
	if failure != nil {
		log = log.With("failure", failure.Kind)
	}
	log.Info("run ended", "ok", o.OK, "wall", o.Figures.Wall,
		"calls", len(o.Calls), "output_bytes", o.Figures.OutputBytes, "tool_result_bytes", o.Figures.ToolResultBytes)
	return o
}

// run is the state of one Run.
type run struct {
	*Executor
	id      string
	req     Request
	timeout time.Duration
	marker  [16]byte
	log     *slog.Logger
	began   time.Time
	boot    time.Duration
	out     *printed
	calls   *calls
	done    bool // the program is, and nothing else is wrong
}

func (e *Executor) newRun(req Request) *run {
	if req.Filename == "" {
		req.Filename = "<program>"
	}
	r := &run{Executor: e, req: req, timeout: e.limits.Timeout, began: time.Now()}
	if req.Timeout > 0 && req.Timeout < r.timeout {
		r.timeout = req.Timeout
	}
	var id [6]byte
	_, _ = rand.Read(id[:]) // crypto/rand never fails (Go 1.24)
	_, _ = rand.Read(r.marker[:])
	r.id = hex.EncodeToString(id[:])
	r.log = e.log.With("run", r.id)
	r.out = newPrinted(e.limits.MaxOutputBytes, r.marker[:], req.Output)
	return r
}

// errTimeout is the cause by which a run's own time limit is told from the
// caller's cancellation.
var errTimeout = errors.New("run timed out")

func (r *run) execute(parent context.Context) *Failure {
	ctx, cancel := tool.WithTimeoutCause(parent, r.timeout, errTimeout)
	defer cancel()

	inst, err := r.backend.Start(ctx, sandbox.Spec{
		MemoryBytes:  r.limits.MemoryBytes,
		CPUs:         r.limits.CPUs,
		Processes:    r.limits.Processes,
		ScratchBytes: r.limits.ScratchBytes,
		OpenFiles:    r.limits.OpenFiles,
	})
	if err != nil {
		if f := r.hostEnd(ctx); f != nil {
			return f
		}
		return &Failure{Kind: FailSandbox, Message: fmt.Sprintf("the program was not run: %v", err)}
	}
	defer func() {
		if r.done {
			r.ended.add(inst)
			return
		}
		_ = inst.Close() // a backend logs what it cannot remove
	}()
	// The calls end before the sandbox does, so that none is sent by the place
	// that another, whose answer can no longer be delivered, gives up.
	callCtx, endCalls := context.WithCancel(ctx)
	defer endCalls()
	stop := context.AfterFunc(ctx, func() {
		endCalls()
		_ = inst.Close()
	})
	defer stop()
	go r.out.drain(inst.Output())

	return r.converse(ctx, callCtx, endCalls, inst)
}

// converse carries the run over the channel and says how it ended. callCtx,
// which endCalls ends, is the calls' part of ctx.
func (r *run) converse(ctx, callCtx context.Context, endCalls context.CancelFunc, inst sandbox.Instance) *Failure {
	conn := channel.New(inst.Channel(), channel.Limits{
		FrameBytes:  maxFrameBytes,
		EmitBytes:   emitBytes(r.limits.MaxOutputBytes),
		OpenCalls:   openCalls,
		MemoryBytes: r.limits.MemoryBytes,
		OpenFiles:   r.limits.OpenFiles,
	})
	r.calls = newCalls(callCtx, conn, r.caller, r.limits, r.req, r.log)

	hello, err := conn.Hello()
	if err != nil {
		return r.broken(ctx, inst, fmt.Errorf("before the runner was ready: %w", err))
	}
	r.boot = time.Since(r.began)
	r.log.Debug("sandbox ready", "python", hello.Python, "boot", r.boot)

	// A sandbox that does not read its program must not keep the run from
	// noticing that it ended; the write's own error adds nothing to that.
	go func() {
		_ = conn.Start(channel.Start{
			Source: r.req.Source, Filename: r.req.Filename,
			Marker: hex.EncodeToString(r.marker[:]), Tools: r.req.Tools.Wire, Servers: r.req.Tools.Servers,
		})
	}()
	done, err := conn.Serve(r.calls)
	ended := r.hostEnd(ctx) // the clock stops here: what follows is the host's own work
	if err == nil {
		r.awaitOutput()
	}
	under := r.calls.underWay()
	endCalls()
	r.settleCalls()
	switch {
	case err != nil:
		return r.named(r.broken(ctx, inst, err), under)
	case ended != nil:
		return r.named(ended, under)
	}
	r.done = true
	return r.programFailure(done.Error)
}

// awaitOutput waits until everything printed before done has arrived.
func (r *run) awaitOutput() {
	grace := time.NewTimer(outputGrace)
	defer grace.Stop()
	select {
	case <-r.out.complete():
	case <-grace.C:
	}
}

// settleCalls gives cancelled calls a moment to say how they ended, then closes
// their record.
func (r *run) settleCalls() {
	r.calls.stop()
	done := make(chan struct{})
	go func() {
		r.calls.running.Wait()
		close(done)
	}()
	grace := time.NewTimer(callGrace)
	defer grace.Stop()
	select {
	case <-done:
	case <-grace.C:
	}
	r.calls.seal()
}

// hostEnd is the failure that the end of ctx stands for, or nil.
func (r *run) hostEnd(ctx context.Context) *Failure {
	switch {
	case ctx.Err() == nil:
		return nil
	case errors.Is(context.Cause(ctx), errTimeout):
		return &Failure{Kind: FailTimeout, Message: fmt.Sprintf(
			"timed out: the program ran longer than %s and was stopped; split the work, or raise execution.timeout_seconds", seconds(r.timeout))}
	}
	return &Failure{Kind: FailCancelled, Message: "cancelled: the run was stopped at the client's request"}
}

// broken says why a conversation ended without done. It sees to it that the
// sandbox has ended and that its output is complete.
func (r *run) broken(ctx context.Context, inst sandbox.Instance, cause error) *Failure {
	if f := r.hostEnd(ctx); f != nil {
		r.awaitOutput()
		return f
	}
	if !errors.Is(cause, io.EOF) {
		_ = inst.Close()
		r.awaitOutput()
		return &Failure{Kind: FailProtocol, Message: fmt.Sprintf(
			"the sandbox was stopped: %v. The program may have written to the runner's own descriptors", cause)}
	}
	status, err := r.exit(ctx, inst)
	r.awaitOutput()
	if f := r.hostEnd(ctx); f != nil {
		return f
	}
	switch {
	case err != nil:
		return &Failure{Kind: FailDied, Message: fmt.Sprintf("the sandbox is gone: %v", err)}
	case status.Reason == sandbox.OutOfMemory:
		return &Failure{Kind: FailMemory, Message: fmt.Sprintf(
			"out of memory: the program used more than %d MiB and was stopped; hold less at once, or raise execution.max_memory_bytes", r.limits.MemoryBytes>>20)}
	case status.Reason == sandbox.Signalled:
		return &Failure{Kind: FailDied, Message: fmt.Sprintf("the program's process was ended by %s before it finished", status.Signal)}
	case status.Reason == sandbox.Killed:
		return &Failure{Kind: FailProtocol, Message: "the sandbox was stopped: it closed its channel and went on running"}
	}
	return &Failure{Kind: FailDied, ExitCode: status.Code, Message: fmt.Sprintf(
		"the program's process ended with exit code %d before it finished (os._exit?)", status.Code)}
}

// exit waits for the sandbox's end after its channel has closed, and brings it
// about when it does not come by itself.
func (r *run) exit(ctx context.Context, inst sandbox.Instance) (sandbox.ExitStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, exitGrace)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = inst.Close() })
	defer stop()
	return inst.Wait()
}

// named adds the calls under way to the failures that they may explain.
func (r *run) named(f *Failure, under string) *Failure {
	if under != "" && (f.Kind == FailTimeout || f.Kind == FailCancelled) {
		f.Message += ". Under way when it was stopped: " + under
	}
	return f
}

// programFailure translates the runner's account, which is hostile input: an
// unknown kind becomes an exception, and everything is bounded by the frame.
func (r *run) programFailure(p *channel.ProgramError) *Failure {
	if p == nil {
		return nil
	}
	f := &Failure{Kind: FailException, Line: max(p.Line, 0)}
	switch p.Kind {
	case string(FailExit):
		f.Kind, f.ExitCode = FailExit, p.ExitCode
	case string(FailSyntax), string(FailCheck):
		f.Kind = FailureKind(p.Kind)
	}
	f.Message = strings.TrimRight(p.Traceback, "\n")
	if f.Message == "" {
		f.Message = p.Type + ": " + p.Message
	}
	if p.Type == "MemoryError" {
		f.Kind = FailMemory
		f.Message += fmt.Sprintf("\nThe program may use %d MiB (execution.max_memory_bytes); hold less at once.", r.limits.MemoryBytes>>20)
	}
	return f
}

// outcome gathers everything the run leaves behind.
func (r *run) outcome(failure *Failure) *Outcome {
	output := r.out.snapshot()
	o := &Outcome{
		ID: r.id, OK: failure == nil, Error: failure,
		output: output,
		Output: output.clip(r.limits.MaxOutputBytes),
		Figures: Figures{
			Sandbox: r.backend.Name(), Wall: time.Since(r.began), Boot: r.boot,
			OutputBytes: output.total,
		},
	}
	if r.calls != nil {
		r.calls.seal()
		o.Calls = r.calls.records
		o.Refused = r.calls.refused
		o.Figures.Tools = r.calls.busyTime
		o.Figures.ToolResultBytes = r.calls.resultBytes
		o.Result = cleanJSON(r.calls.result)
	}
	return o
}

func seconds(d time.Duration) string { return fmt.Sprintf("%g s", d.Seconds()) }

func join(names []string) string { return strings.Join(names, ", ") }
