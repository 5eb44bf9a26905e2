package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/channel"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// ownConcurrency bounds the calls of ptc-mcp's own functions under way at once.
const ownConcurrency = 4

// maxRefusedRecords bounds how many refused calls are recorded one by one; a
// program that goes on after its budget is used up could make millions.
const maxRefusedRecords = 20

// calls answers one run's calls within its limits and keeps their record. It
// is the channel's Handler.
type calls struct {
	ctx        context.Context // ends with the run
	conn       *channel.Conn
	caller     ToolCaller
	limits     Limits
	readOnly   map[string]bool
	onProgress func(Progress)
	log        *slog.Logger

	ownSlots chan struct{}
	running  sync.WaitGroup

	mu sync.Mutex
	queue
	open        map[int64]*pending // the calls not yet answered
	sealed      bool               // the run has ended: the record stays as it is
	records     []Call
	began       []time.Time // of each record; zero until the call is sent
	counted     int         // calls that count against the budget
	refused     int
	progress    Progress
	result      json.RawMessage
	resultBytes int64
	busy        int // calls under way
	busySince   time.Time
	busyTime    time.Duration
}

func newCalls(ctx context.Context, conn *channel.Conn, caller ToolCaller, limits Limits, req Request, log *slog.Logger) *calls {
	c := &calls{
		ctx: ctx, conn: conn, caller: caller, limits: limits,
		readOnly: req.Tools.ReadOnly, onProgress: req.OnProgress, log: log,
		open:     make(map[int64]*pending),
		ownSlots: make(chan struct{}, ownConcurrency),
	}
	c.more.L = &c.mu
	return c
}

// Emit keeps the value; the last one wins.
func (c *calls) Emit(value json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result = value
}

// Call answers a request in the background.
func (c *calls) Call(call channel.Call) {
	if !tool.Counted(call.Tool) {
		c.running.Go(func() { c.answerOwn(call) })
		return
	}
	c.mu.Lock()
	index, refusal := c.admit(call.Tool)
	hire := false
	if refusal == nil {
		p := &pending{Call: call, index: index}
		c.open[call.ID] = p
		hire = c.put(p, c.limits.MaxConcurrentCalls)
	}
	c.mu.Unlock()
	switch {
	case refusal != nil:
		c.running.Go(func() { c.fail(call.ID, refusal) })
	case hire:
		c.running.Go(c.work)
	}
}

// Cancel ends the call that the program has given up, if it is still open.
func (c *calls) Cancel(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.open[id]
	switch {
	case p == nil || p.givenUp:
		return
	case p.cancel != nil:
		p.cancel()
	default: // it waits for its turn, which will be passed over
		c.running.Go(func() {
			failure := tool.Errorf(p.Tool, tool.KindCancelled, "the program gave it up before it was sent")
			c.end(p, 0, failure)
			c.fail(id, failure)
		})
	}
	p.givenUp = true
}

// admit counts a call against the budget and opens its record. mu is held.
func (c *calls) admit(name string) (int, *tool.Error) {
	record := Call{Tool: name, ReadOnly: c.readOnly[name], Status: CallRefused}
	if c.counted >= c.limits.MaxToolCalls {
		err := tool.Errorf(name, tool.KindBudget,
			"this run's budget of %d tool calls is used up; do the rest in another program, or raise execution.max_tool_calls", c.limits.MaxToolCalls)
		c.progress.Failed++
		if c.refused++; c.refused <= maxRefusedRecords {
			record.Kind, record.Error = err.Kind, err.Message
			c.records = append(c.records, record)
			c.began = append(c.began, time.Time{})
		}
		return 0, err
	}
	c.counted++
	c.records = append(c.records, record)
	c.began = append(c.began, time.Time{})
	return len(c.records) - 1, nil
}

func (c *calls) answerOwn(call channel.Call) {
	select {
	case c.ownSlots <- struct{}{}:
		defer func() { <-c.ownSlots }()
	case <-c.ctx.Done():
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.limits.ToolCallTimeout)
	defer cancel()
	value, err := c.caller.CallTool(ctx, call.Tool, call.Arguments)
	if err != nil {
		c.fail(call.ID, tool.AsError(call.Tool, err))
		return
	}
	c.succeed(call.ID, value)
}

// work makes calls, one at a time, until the run ends.
func (c *calls) work() {
	for {
		c.mu.Lock()
		p := c.take()
		c.mu.Unlock()
		if p == nil {
			return
		}
		c.answer(p)
	}
}

// answer makes one call. Its worker has nothing else to do until the answer has
// been written, so that a sandbox that does not read cannot make results pile
// up.
func (c *calls) answer(p *pending) {
	ctx, cancel := tool.WithTimeout(c.ctx, c.limits.ToolCallTimeout)
	defer cancel()
	if !c.begin(p, cancel) {
		return
	}
	value, err := c.caller.CallTool(ctx, p.Tool, p.Arguments)
	failure := c.classify(ctx, p, value, err)
	c.end(p, len(value), failure)
	if failure != nil {
		c.fail(p.ID, failure)
		return
	}
	c.succeed(p.ID, value)
}

// classify turns what a caller returned into the call's failure, or nil. ctx is
// the call's own.
func (c *calls) classify(ctx context.Context, p *pending, value json.RawMessage, err error) *tool.Error {
	var failure *tool.Error
	name := p.Tool
	switch {
	case err == nil && int64(len(value)) <= c.limits.MaxToolResultBytes:
		return nil
	case err == nil:
		failure = tool.Errorf(name, tool.KindTooLarge,
			"result of %d bytes is over the limit of %d; ask for less, or raise execution.max_tool_result_bytes", len(value), c.limits.MaxToolResultBytes)
	case c.isGivenUp(p):
		failure = tool.Errorf(name, tool.KindCancelled, "the program gave it up before the server answered")
	case isToolError(err) || ctx.Err() == nil:
		return tool.AsError(name, err)
	case c.ctx.Err() != nil:
		failure = tool.Errorf(name, tool.KindCancelled, "the run ended before the server answered")
	default:
		failure = tool.Errorf(name, tool.KindTimeout,
			"no answer within %s (execution.tool_call_timeout_seconds); its outcome is unknown", seconds(c.limits.ToolCallTimeout))
	}
	failure.Sent = true
	return failure
}

func isToolError(err error) bool {
	var te *tool.Error
	return errors.As(err, &te)
}

func (c *calls) succeed(id int64, value json.RawMessage) {
	if err := c.conn.Result(id, value); err != nil && c.ctx.Err() == nil {
		c.log.Debug("answer not delivered", "call", id, "error", err)
	}
}

func (c *calls) fail(id int64, e *tool.Error) {
	if err := c.conn.Fail(id, string(e.Kind), e.Message, e.Retryable); err != nil && c.ctx.Err() == nil {
		c.log.Debug("answer not delivered", "call", id, "error", err)
	}
}

func (c *calls) isGivenUp(p *pending) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return p.givenUp
}

// begin notes that the call is being sent, and how it is cancelled; false means
// that it must not be: the run is over, or the program has given it up.
func (c *calls) begin(p *pending, cancel context.CancelFunc) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sealed || p.givenUp || c.ctx.Err() != nil {
		return false
	}
	p.cancel = cancel
	now := time.Now()
	c.began[p.index] = now
	c.records[p.index].Status = CallCancelled // until it ends
	if c.busy++; c.busy == 1 {
		c.busySince = now
	}
	c.progress.Started++
	c.report(p.Tool)
	return true
}

// end closes a call's record, unless the run has ended first.
func (c *calls) end(p *pending, size int, failure *tool.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, p.ID)
	if c.sealed {
		return
	}
	r := &c.records[p.index]
	if began := c.began[p.index]; !began.IsZero() {
		now := time.Now()
		if c.busy--; c.busy == 0 {
			c.busyTime += now.Sub(c.busySince)
		}
		r.Duration = now.Sub(began)
		c.progress.Finished++
	}
	switch {
	case failure == nil:
		r.Status = CallOK
		c.resultBytes += int64(size)
	default:
		r.Status, r.Kind, r.Error = statusOf(failure), failure.Kind, failure.Message
		r.OutcomeUnknown = !r.ReadOnly && failure.OutcomeUnknown()
		c.progress.Failed++
	}
	c.logCall(r)
	c.report(r.Tool)
}

// logCall writes the call's line: a log that shows only the run would hide what
// the run did.
func (c *calls) logCall(r *Call) {
	if !c.log.Enabled(c.ctx, slog.LevelInfo) {
		return
	}
	attrs := []slog.Attr{slog.String("tool", r.Tool), slog.String("status", string(r.Status)), slog.Duration("took", r.Duration)}
	if r.Kind != "" {
		attrs = append(attrs, slog.String("kind", string(r.Kind)))
	}
	if r.OutcomeUnknown {
		attrs = append(attrs, slog.Bool("outcome_unknown", true))
	}
	c.log.LogAttrs(c.ctx, slog.LevelInfo, "call", attrs...)
}

// statusOf tells a call that failed from one that was never sent and one that
// the run's end cut off.
func statusOf(e *tool.Error) CallStatus {
	switch {
	case !e.Sent && (e.Kind == tool.KindUnknown || e.Kind == tool.KindArguments || e.Kind == tool.KindCancelled):
		return CallRefused
	case e.Kind == tool.KindCancelled:
		return CallCancelled
	}
	return CallFailed
}

// report is called with mu held, which is what keeps the calls of onProgress
// one at a time.
func (c *calls) report(name string) {
	if c.onProgress != nil {
		c.progress.Last = name
		c.onProgress(c.progress)
	}
}

// underWay names up to three calls that have been sent and not answered.
func (c *calls) underWay() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	n := 0
	for i := range c.records {
		if c.records[i].Status == CallCancelled {
			if n++; n <= 3 {
				names = append(names, c.records[i].Tool)
			}
		}
	}
	switch {
	case n == 0:
		return ""
	case n > 3:
		return fmt.Sprintf("%s and %d more", join(names), n-3)
	}
	return join(names)
}

// seal ends the record: whatever is still under way is cancelled, and what a
// tool that is not read-only made of it is unknown.
func (c *calls) seal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sealed {
		return
	}
	c.sealed = true
	now := time.Now()
	if c.busy > 0 {
		c.busyTime += now.Sub(c.busySince)
	}
	for i := range c.records {
		r := &c.records[i]
		switch {
		case r.Status == CallCancelled && r.Kind == "":
			r.Kind = tool.KindCancelled
			r.Error = r.Tool + ": the run ended before the server answered"
			r.Duration = now.Sub(c.began[i])
			r.OutcomeUnknown = !r.ReadOnly
			c.logCall(r)
		case r.Status == CallRefused && r.Kind == "":
			r.Kind = tool.KindCancelled
			r.Error = r.Tool + ": the run ended before it was sent"
		}
	}
}
