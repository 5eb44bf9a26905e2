package warm

import (
	"context"
	"slices"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

const (
	// courtesy is how long boots leave the processors to a run that has just
	// begun. Most end sooner, and then the boots begin at once.
	courtesy = 100 * time.Millisecond
	// After a boot that failed, or a sandbox that died waiting, the next boot
	// comes later and later, until a Start succeeds.
	minRetry = 500 * time.Millisecond
	maxRetry = time.Minute
)

// stock is what a Pool has and what it wants. Everything in it is guarded by
// Pool.mu.
type stock struct {
	closed  bool
	tending bool // tend runs

	spec     sandbox.Spec
	spares   []*spare  // those that may still be taken, the oldest first
	starting int       // Starts under way
	running  int       // sandboxes handed out and not closed
	used     time.Time // last

	// target is how many spares there should be. It grows with every Start that
	// finds none ready, and shrinks by those that no Start needed: unneeded is
	// the fewest that were left by a Start since.
	target   int
	unneeded int
	since    time.Time

	short    time.Time // since when boots are wanted; zero when none are
	failures int       // in a row
	retryAt  time.Time
}

// use notes that programs come, with these limits.
func (p *Pool) use(spec sandbox.Spec, now time.Time) {
	if !p.tending {
		p.tending = true
		p.work.Go(p.tend)
	}
	if p.spec != spec {
		p.dropAll()
		p.spec = spec
	}
	if p.target == 0 {
		p.resize(p.config.Size, now)
	}
	p.used = now
	p.changed()
}

// changed has tend look again.
func (p *Pool) changed() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *Pool) resize(target int, now time.Time) {
	p.target, p.unneeded, p.since = target, target, now
}

// take counts a Start and picks a spare for it: one that is ready, else the one
// whose boot is farthest. Without any it returns nil.
func (p *Pool) take(spec sandbox.Spec) (*spare, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	now := time.Now()
	asleep := p.target == 0
	p.use(spec, now)
	p.starting++

	best := -1
	left := 0
	for i, s := range p.spares {
		opened := s.isOpened()
		switch {
		case opened && !s.isQuiet(), !opened && now.Sub(s.began) >= adoptTimeout:
			continue
		case !s.ready.IsZero():
			left++
		}
		if best < 0 || s.stage() > p.spares[best].stage() {
			best = i
		}
	}
	if left > 0 {
		p.unneeded = min(p.unneeded, left-1)
	} else if !asleep {
		p.resize(min(p.target+1, p.config.Max), now)
	}
	if best < 0 {
		return nil, nil //nolint:nilnil // no spare is no error
	}
	s := p.spares[best]
	p.spares = slices.Delete(p.spares, best, best+1)
	if s.isOpened() {
		close(s.taken)
	} else {
		s.claimed = true
	}
	return s, nil
}

// stage orders spares by how near they are to being ready.
func (s *spare) stage() int {
	switch {
	case !s.ready.IsZero():
		return 2
	case s.isOpened():
		return 1
	}
	return 0
}

// await waits until a spare that take picked is started, and reports whether it
// now belongs to the caller. One that takes too long goes back to the pool.
func (p *Pool) await(ctx context.Context, s *spare) bool {
	late := time.NewTimer(time.Until(s.began.Add(adoptTimeout)))
	defer late.Stop()
	select {
	case <-s.opened:
	case <-ctx.Done():
	case <-late.C:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !s.isOpened():
		s.claimed = false
		if s.spec == p.spec && !p.closed {
			p.spares = slices.Insert(p.spares, 0, s)
		} else {
			s.drop()
		}
		return false
	case s.err != nil:
		return false
	case ctx.Err() != nil:
		// The caller's own start will say so, and leaves nothing either.
		_ = s.instance.Close()
		return false
	}
	return true
}

// opened notes that a spare's start has returned, and reports whether a run
// waited for that.
func (p *Pool) opened(s *spare, instance sandbox.Instance, err error) (taken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.open(instance, err)
	if s.claimed && err != nil {
		p.failed(s, err)
	}
	return s.claimed
}

// ready notes that a spare can be used.
func (p *Pool) ready(s *spare) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.ready = time.Now()
	p.changed()
}

// left takes a spare out of the pool, and reports whether it had been taken for
// a run. err says what is wrong with it; nil if nothing is.
func (p *Pool) left(s *spare, err error) (taken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-s.taken:
		return true
	default:
	}
	if i := slices.Index(p.spares, s); i >= 0 {
		p.spares = slices.Delete(p.spares, i, i+1)
		p.failed(s, err)
		p.changed()
	}
	return false
}

// failed puts off further boots. Several failures at once count as one.
func (p *Pool) failed(s *spare, err error) {
	now := time.Now()
	if p.closed || now.Before(p.retryAt) {
		return
	}
	if !s.ready.IsZero() && now.Sub(s.ready) >= maxRetry {
		p.failures = 0 // it had been fine
	}
	delay := maxRetry
	if p.failures < 10 {
		delay = min(minRetry<<p.failures, maxRetry)
	}
	p.failures++
	p.retryAt = now.Add(delay)
	log := p.config.Logger.Debug
	if p.failures == 1 {
		log = p.config.Logger.Warn
	}
	log("no sandbox kept ready", "error", err, "retry_in", delay)
}

// startFailed notes that a Start ends without a sandbox.
func (p *Pool) startFailed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starting--
	p.changed()
}

// runEnded notes that a run has ended. It does what is due itself, before a
// next Start can come and put it off.
func (p *Pool) runEnded() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	p.used = time.Now()
	p.step(p.used)
	p.changed()
}
