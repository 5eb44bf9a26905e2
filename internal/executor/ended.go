package executor

import (
	"sync"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// afterAnswer is how long a sandbox is left alone whose program is done. To
// kill it, and to boot the next one, would take the processors from the answer
// that is on its way to the client: two fifths of its wait, measured on two cores.
const afterAnswer = 5 * time.Millisecond

// ended are the sandboxes that are to be closed.
type ended struct {
	mu        sync.Mutex
	sandboxes []sandbox.Instance
	closing   sync.Mutex // held while some are being closed
}

// add has a sandbox closed in a moment.
func (e *ended) add(s sandbox.Instance) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sandboxes = append(e.sandboxes, s); len(e.sandboxes) == 1 {
		time.AfterFunc(afterAnswer, e.close)
	}
}

// close closes all now, and returns when that is done.
func (e *ended) close() {
	e.closing.Lock()
	defer e.closing.Unlock()
	e.mu.Lock()
	sandboxes := e.sandboxes
	e.sandboxes = nil
	e.mu.Unlock()
	for _, s := range sandboxes {
		_ = s.Close() // a backend logs what it cannot remove
	}
}
