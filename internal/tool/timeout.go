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
	return WithTimeoutCause(ctx, limit, context.DeadlineExceeded)
}

// WithTimeoutCause is WithTimeout with the cause of a context that has run out
// of time.
func WithTimeoutCause(ctx context.Context, limit time.Duration, cause error) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancelCause(ctx)
	c := &clocked{Context: inner, cause: cause, left: limit, running: 1, since: time.Now()}
	c.timer = time.AfterFunc(limit, func() { cancel(cause) })
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

// PauseAll is Pause for the clocks of the call and of all it is made for, such
// as the run's.
func PauseAll(ctx context.Context) (resume func()) {
	var clocks []*clocked
	for c, _ := ctx.Value(clockKey{}).(*clocked); c != nil; c, _ = c.Context.Value(clockKey{}).(*clocked) {
		c.pause()
		clocks = append(clocks, c)
	}
	return sync.OnceFunc(func() {
		for _, c := range clocks {
			c.resume()
		}
	})
}

type clockKey struct{}

// clocked is the context of a call.
type clocked struct {
	context.Context
	cause error // of its end by time

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
	if err != nil && context.Cause(c.Context) == c.cause { //nolint:errorlint // that very value was given
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
