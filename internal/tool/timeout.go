package tool

import (
	"context"
	"sync"
	"time"
)

// WithTimeout bounds the time of one call. It is context.WithTimeout with a
// clock that Pause stops: time in which a call waits for its turn is not time
// in which a server fails to answer. The context has no Deadline, as it may
// move.
func WithTimeout(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancelCause(ctx)
	c := &clocked{Context: inner, left: limit, running: 1, since: time.Now()}
	c.timer = time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
	return c, func() {
		c.timer.Stop()
		cancel(context.Canceled)
	}
}

// Pause stops the clock of the call that ctx belongs to, if it has one, until
// resume is called.
func Pause(ctx context.Context) (resume func()) {
	c, _ := ctx.Value(clockKey{}).(*clocked)
	if c == nil {
		return func() {}
	}
	c.pause()
	return sync.OnceFunc(c.resume)
}

type clockKey struct{}

// clocked is the context of a call.
type clocked struct {
	context.Context

	mu      sync.Mutex
	timer   *time.Timer
	left    time.Duration // when the clock was started last
	since   time.Time
	running int // 1, less one for each pause
}

func (c *clocked) Value(key any) any {
	if key == (clockKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// Err tells the end of the time from a cancellation.
func (c *clocked) Err() error {
	err := c.Context.Err()
	if err != nil && context.Cause(c.Context) == context.DeadlineExceeded { //nolint:errorlint // that very value was given
		return context.DeadlineExceeded
	}
	return err
}

func (c *clocked) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running--; c.running == 0 && c.timer.Stop() {
		c.left -= time.Since(c.since)
	}
}

func (c *clocked) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running++; c.running == 1 && c.Context.Err() == nil {
		c.since = time.Now()
		c.timer.Reset(max(c.left, 0))
	}
}
