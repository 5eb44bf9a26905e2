package warm

import (
	"slices"
	"time"
)

// tend keeps the stock as it should be until the pool is closed.
func (p *Pool) tend() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		p.mu.Lock()
		next := p.step(time.Now())
		p.mu.Unlock()
		timer.Stop()
		if !next.IsZero() {
			timer.Reset(time.Until(next))
		}
		select {
		case <-p.wake:
		case <-timer.C:
		case <-p.life.Done():
			return
		}
	}
}

// step does what is due, and returns when something will be due that no change
// announces; zero means never.
func (p *Pool) step(now time.Time) (next time.Time) {
	if p.closed || p.target == 0 {
		return time.Time{}
	}
	var sleep time.Time
	if p.starting+p.running == 0 {
		if sleep = p.used.Add(p.config.MaxAge); !now.Before(sleep) {
			p.dropAll()
			p.resize(0, now)
			p.short = time.Time{}
			return time.Time{}
		}
	}
	return earliest(sleep, p.shrink(now), p.refill(now))
}

// shrink lowers the target by what no Start needed, and drops what is beyond.
func (p *Pool) shrink(now time.Time) (next time.Time) {
	if p.target > p.config.Size {
		if due := p.since.Add(p.config.IdleAfter); now.Before(due) {
			next = due
		} else {
			p.resize(max(p.config.Size, p.target-p.unneeded), now)
			next = now.Add(p.config.IdleAfter)
		}
	}
	for surplus := p.countReady() - p.target; surplus > 0; surplus-- {
		p.drop(p.oldestReady())
	}
	return next
}

// refill boots what is missing, when it is time.
func (p *Pool) refill(now time.Time) (next time.Time) {
	missing := p.target - len(p.spares)
	if oldest := p.oldestReady(); oldest != nil {
		if due := oldest.ready.Add(p.config.MaxAge); now.Before(due) {
			next = due
		} else {
			missing++ // once that is ready, the oldest is beyond the target
		}
	}
	if missing <= 0 {
		p.short = time.Time{}
		return next
	}
	if p.short.IsZero() {
		p.short = now
	}
	// The processors belong to programs first, then to Starts that wait for a
	// boot. But when one after the other has to wait, the pace of boots is what
	// they wait for.
	busy, limit := p.running > 0, p.boots
	if !busy && p.target > p.config.Size {
		limit = p.config.Max
	} else {
		busy = busy || p.starting > 0
	}
	due := p.retryAt
	if begin := p.short.Add(courtesy); busy && due.Before(begin) {
		due = begin
	}
	if now.Before(due) {
		return earliest(next, due)
	}
	booting := len(p.spares) - p.countReady()
	for range min(missing, limit-booting) {
		s := p.newSpare(p.spec, now)
		p.spares = append(p.spares, s)
		p.work.Go(func() { p.keep(s) })
		p.short = now // the next one waits its turn anew
	}
	return next
}

func (p *Pool) countReady() int {
	n := 0
	for _, s := range p.spares {
		if !s.ready.IsZero() {
			n++
		}
	}
	return n
}

// oldestReady returns the spare that has been ready for longest, or nil.
func (p *Pool) oldestReady() *spare {
	var oldest *spare
	for _, s := range p.spares {
		if !s.ready.IsZero() && (oldest == nil || s.ready.Before(oldest.ready)) {
			oldest = s
		}
	}
	return oldest
}

// drop gives up a spare; its goroutine closes it.
func (p *Pool) drop(s *spare) {
	p.spares = slices.DeleteFunc(p.spares, func(other *spare) bool { return other == s })
	s.drop()
}

// dropAll gives up every spare.
func (p *Pool) dropAll() {
	for _, s := range p.spares {
		s.drop()
	}
	p.spares = nil
}

// earliest returns the first of some times, zero ones left out.
func earliest(times ...time.Time) (first time.Time) {
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}
