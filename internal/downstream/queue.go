package downstream

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// queue bounds the calls of one server under way at once. Those beyond wait,
// and are let in in the order they came, whichever run they belong to.
type queue struct {
	slots   *semaphore.Weighted // nil: no bound
	waiting func(ctx context.Context) (resume func())
}

func newQueue(config Config) queue {
	q := queue{waiting: config.Waiting}
	if config.MaxConcurrentCalls > 0 {
		q.slots = semaphore.NewWeighted(int64(config.MaxConcurrentCalls))
	}
	return q
}

// enter waits for a place. Its error is ctx's; else leave gives it back.
func (q queue) enter(ctx context.Context) (leave func(), err error) {
	if q.slots == nil {
		return func() {}, nil
	}
	if !q.slots.TryAcquire(1) {
		if q.waiting != nil {
			defer q.waiting(ctx)()
		}
		if err := q.slots.Acquire(ctx, 1); err != nil {
			return nil, ctx.Err()
		}
	}
	return func() { q.slots.Release(1) }, nil
}
