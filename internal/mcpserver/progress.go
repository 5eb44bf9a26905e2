package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/executor"
)

// progressInterval is the least time between two progress notifications of one
// request: at most 10 a second.
const progressInterval = 100 * time.Millisecond

// notifier sends the progress notifications of one request. A transport puts
// one into the context of a request that asked for progress.
type notifier func(progress float64, message string)

type notifierKey struct{}

func withNotifier(ctx context.Context, n notifier) context.Context {
	return context.WithValue(ctx, notifierKey{}, n)
}

func notifierFrom(ctx context.Context) notifier {
	n, _ := ctx.Value(notifierKey{}).(notifier)
	return n
}

// progressReporter passes the newest state of a run to a notifier, from a
// goroutine of its own: report never blocks, whatever the client does.
type progressReporter struct {
	notify notifier
	wake   chan struct{}
	quit   chan struct{}
	done   chan struct{}
	once   sync.Once

	mu     sync.Mutex
	latest executor.Progress
}

// newProgressReporter starts a reporter; with a nil notifier it does nothing.
func newProgressReporter(notify notifier) *progressReporter {
	p := &progressReporter{
		notify: notify,
		wake:   make(chan struct{}, 1),
		quit:   make(chan struct{}),
		done:   make(chan struct{}),
	}
	if notify == nil {
		close(p.done)
		return p
	}
	go p.loop()
	return p
}

// report takes note of the run's state.
func (p *progressReporter) report(state executor.Progress) {
	if p.notify == nil {
		return
	}
	p.mu.Lock()
	p.latest = state
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// stop ends the reporter. No notification follows once it has returned, so that
// the result may be written.
func (p *progressReporter) stop() {
	p.once.Do(func() { close(p.quit) })
	<-p.done
}

func (p *progressReporter) loop() {
	defer close(p.done)
	sent := 0.0
	for {
		select {
		case <-p.wake:
		case <-p.quit:
			// A run too short for the loop to have seen it is still reported.
			if sent == 0 {
				p.send(sent)
			}
			return
		}
		sent = p.send(sent)
		pause := time.NewTimer(progressInterval)
		select {
		case <-pause.C:
		case <-p.quit:
			pause.Stop()
			return
		}
	}
}

// send notifies unless the state is what it was, and returns the progress that
// the client now knows. The protocol wants every progress above the one before:
// a call counts half when it starts and half when it ends.
func (p *progressReporter) send(sent float64) float64 {
	p.mu.Lock()
	state := p.latest
	p.mu.Unlock()
	progress := float64(state.Started+state.Finished) / 2
	if progress <= sent {
		return sent
	}
	message := fmt.Sprintf("tool calls: %d made, %d under way", state.Started, state.Started-state.Finished)
	if state.Failed > 0 {
		message += fmt.Sprintf(", %d failed", state.Failed)
	}
	if state.Last != "" {
		message += "; last " + shorten(state.Last, 128)
	}
	p.notify(progress, message)
	return progress
}

// progressNotification is the wire form of one notification.
type progressNotification struct {
	JSONRPC string         `json:"jsonrpc"`
	Method  string         `json:"method"`
	Params  progressParams `json:"params"`
}

type progressParams struct {
	Token    json.RawMessage `json:"progressToken"`
	Progress float64         `json:"progress"`
	Message  string          `json:"message"`
}
