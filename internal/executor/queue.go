package executor

import (
	"context"
	"sync"

	"github.com/ptc-mcp/ptc-mcp/internal/channel"
)

// pending is a call of a server's tool that is not yet answered.
type pending struct {
	channel.Call
	index int // of its record

	// Guarded by calls.mu.
	cancel  context.CancelFunc // nil until the call is being sent
	givenUp bool               // by the program
}

// queue hands calls, in the order in which they came, to as many workers as may
// be under way at once. Workers are kept for the next call: a new goroutine for
// each would have to grow its stack each time. Everything in it is guarded by
// calls.mu.
type queue struct {
	waiting []*pending
	next    int       // those before it are taken
	more    sync.Cond // a call came, or no more will
	workers int
	idle    int // workers that wait and that no put counts on
	stopped bool
}

// put appends a call, and reports whether the caller must start a worker.
func (q *queue) put(p *pending, maxWorkers int) (hire bool) {
	if q.next > len(q.waiting)/2 {
		q.waiting = q.waiting[:copy(q.waiting, q.waiting[q.next:])]
		q.next = 0
	}
	q.waiting = append(q.waiting, p)
	switch {
	case q.idle > 0:
		q.idle--
		q.more.Signal()
	case q.workers < maxWorkers:
		q.workers++
		return true
	}
	return false
}

// take waits for the next call; nil means that there will be none.
func (q *queue) take() *pending {
	for !q.stopped {
		if q.next < len(q.waiting) {
			p := q.waiting[q.next]
			q.waiting[q.next] = nil
			q.next++
			return p
		}
		q.idle++
		q.more.Wait()
	}
	return nil
}

// stop ends the workers, each after the call it makes, and drops the calls that
// wait.
func (c *calls) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.more.Broadcast()
}
