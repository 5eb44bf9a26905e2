package downstream

import "sync"

// group is a set of goroutines that can be closed: unlike a WaitGroup, it may
// be asked for another one while it is being waited for, and then does not
// start it.
type group struct {
	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
}

func (g *group) run(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.wg.Go(f)
	}
}

// close waits for the goroutines and starts no more.
func (g *group) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.wg.Wait()
}
