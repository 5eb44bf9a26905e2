package docker

import "sync"

// background counts the goroutines that Close waits for. Unlike a
// sync.WaitGroup it may grow while it is waited for.
type background struct {
	mu    sync.Mutex
	count int
	quiet chan struct{} // closed when count falls to 0
}

// run runs f in a goroutine.
func (g *background) run(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.count++; g.count == 1 {
		g.quiet = make(chan struct{})
	}
	go func() {
		defer g.done()
		f()
	}()
}

func (g *background) done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.count--; g.count == 0 {
		close(g.quiet)
	}
}

// idle returns a channel that is closed when nothing is running.
func (g *background) idle() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.quiet == nil {
		g.quiet = make(chan struct{})
		close(g.quiet)
	}
	return g.quiet
}
