package native

import (
	"context"
	"sync"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// A reserve holds one booted supervisor, without a plan, for the next start.
// Namespaces, the start of a Go program and its packages, the root, and moving
// a thread into cgroups take longer than all that is left to do then.
type reserve struct {
	mutex  sync.Mutex
	one    *instance
	closed bool
}

// take returns the one in reserve, or nil. It may have died.
func (r *reserve) take() *instance {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	i := r.one
	r.one = nil
	return i
}

// wanted says whether another one should be booted.
func (r *reserve) wanted() bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.one == nil && !r.closed
}

// put keeps one, or abandons it if there is no use for it.
func (r *reserve) put(i *instance) {
	r.mutex.Lock()
	keep := r.one == nil && !r.closed
	if keep {
		r.one = i
	}
	r.mutex.Unlock()
	if !keep {
		i.abandon()
	}
}

// close abandons the one in reserve; no other will be kept.
func (r *reserve) close() {
	r.mutex.Lock()
	r.closed = true
	r.mutex.Unlock()
	r.drop()
}

// drop abandons the one in reserve, if any.
func (r *reserve) drop() {
	if i := r.take(); i != nil {
		i.abandon()
	}
}

// startFromReserve launches with the supervisor in reserve, if there is one
// that is of use, and boots the next in the background.
func (b *backend) startFromReserve(ctx context.Context, state *machineState, spec sandbox.Spec, argv []string) (*instance, error) {
	i := b.reserve.take()
	if i != nil {
		// Whatever is wrong with it may not be wrong with a new one.
		if err := i.begin(ctx, spec, state.plan(spec, argv)); err != nil {
			b.logger.Debug("sandbox in reserve of no use", "error", err)
			i = nil
		}
	}
	if i == nil {
		var err error
		if i, err = b.launch(ctx, state, spec, argv); err != nil {
			return nil, err
		}
	}
	b.running.Go(func() { b.refill(state) })
	return i, nil
}

// refill boots a supervisor for the reserve.
func (b *backend) refill(state *machineState) {
	if !b.reserve.wanted() {
		return
	}
	i, err := b.boot(state)
	if err != nil {
		b.logger.Debug("no sandbox in reserve", "error", err) // the next start says why
		return
	}
	b.reserve.put(i)
}
