package native

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

const (
	// zygotePatience bounds the time to a run's first process, which takes
	// milliseconds.
	zygotePatience = 10 * time.Second
	// zygoteRuns is after how many runs there is a new zygote: its runs share
	// address layout and hash seed, and what one has seen of them shall not
	// stay true for ever.
	zygoteRuns = 1000
	// zygoteIdle is how long a zygote waits for a run. It holds about 15 MB,
	// its supervisor's included.
	zygoteIdle = 15 * time.Minute
	// zygotePause is how long there is no zygote after one that was of no use.
	zygotePause = time.Minute
)

var errNoZygote = errors.New("switched off by native.zygote")

// zygotes keeps the one in use.
type zygotes struct {
	off      bool // the configuration wants none
	patience time.Duration
	idle     time.Duration
	booting  chan struct{} // held by who boots one

	mutex   sync.Mutex
	current *zygote
	problem error     // why there is none
	until   time.Time // when to try again
	closed  bool
}

// startFromZygote starts a sandbox from the zygote, and boots that if need be.
func (b *backend) startFromZygote(ctx context.Context, state *machineState, spec sandbox.Spec) (*instance, error) {
	z, err := b.takeZygote(ctx, state)
	if err != nil {
		return nil, err
	}
	i, err := b.startForked(ctx, z, state, spec)
	if err != nil && ctx.Err() == nil {
		b.dismiss(z, err)
	}
	return i, err
}

// takeZygote returns a zygote that counts on one more run.
func (b *backend) takeZygote(ctx context.Context, state *machineState) (*zygote, error) {
	s := &b.zygotes
	if z, err := s.take(state); z != nil || err != nil {
		return z, err
	}
	select {
	case s.booting <- struct{}{}:
		defer func() { <-s.booting }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if z, err := s.take(state); z != nil || err != nil {
		return z, err
	}
	z, err := b.bootZygote(ctx, state)
	if err != nil {
		if ctx.Err() == nil {
			s.giveUp(err)
			b.logger.Info("no zygote; each sandbox boots a Python of its own, which takes longer", "error", err)
		}
		return nil, err
	}
	z.take()
	if old := s.replace(z); old != nil {
		b.running.Go(old.retire)
	}
	return z, nil
}

// tryZygote boots a zygote, if there is to be one, and has it fork. On success
// it is kept.
func (b *backend) tryZygote(ctx context.Context, state *machineState) error {
	i, err := b.startFromZygote(ctx, state, withDefaults(sandbox.Spec{}))
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = i.Close() })
	defer stop()
	_, err = io.ReadFull(i.Channel(), make([]byte, 1))
	_ = i.Close()
	if err != nil && ctx.Err() == nil {
		b.zygotes.giveUp(fmt.Errorf("what it forked did not start: %w", err))
	}
	return err
}

// dismiss replaces a zygote that has failed: by the next one, or by none for a
// while if it was of no use ever.
func (b *backend) dismiss(z *zygote, err error) {
	b.logger.Warn("zygote of no use; it is replaced", "error", err)
	b.running.Go(z.retire)
	z.mutex.Lock()
	never := z.started <= 1
	z.mutex.Unlock()
	if never {
		b.zygotes.giveUp(err)
	}
}

// take returns the zygote in use, neither it nor an error if one has to be
// booted.
func (s *zygotes) take(state *machineState) (*zygote, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case s.off, s.closed:
		return nil, errNoZygote
	case s.problem != nil && time.Now().Before(s.until):
		return nil, s.problem
	case s.current == nil || s.current.worn() || s.current.loaded != state.fingerprint() || !s.current.take():
		return nil, nil
	}
	return s.current, nil
}

// replace puts another in use and returns the one before, or the other itself
// if none is wanted any more.
func (s *zygotes) replace(z *zygote) *zygote {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed {
		return z
	}
	old := s.current
	s.current, s.problem = z, nil
	return old
}

func (s *zygotes) giveUp(problem error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.problem, s.until = problem, time.Now().Add(zygotePause)
}

// forgive lets the next start try again.
func (s *zygotes) forgive() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.problem = nil
}

// close ends the one in use; there will be no other.
func (s *zygotes) close() {
	s.mutex.Lock()
	z := s.current
	s.current, s.closed = nil, true
	s.mutex.Unlock()
	if z != nil {
		z.retire()
	}
}

// describe says how sandboxes start here.
func (s *zygotes) describe(c *sandbox.Capabilities) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case s.off:
		c.Description += "; each boots a Python of its own (native.zygote is false)"
	case s.problem != nil:
		c.Description += "; each boots a Python of its own"
		c.Warnings = append(c.Warnings, fmt.Sprintf("sandboxes start slower than they could, because Python cannot be booted once and forked here: %v", s.problem))
	default:
		c.Description += "; forked from a Python that is booted once"
	}
}

// worn says whether a zygote has had its share of runs.
func (z *zygote) worn() bool {
	z.mutex.Lock()
	defer z.mutex.Unlock()
	return z.started >= zygoteRuns
}

// A fingerprint tells a Python installation from what an upgrade makes of it.
type fingerprint string

// fingerprint looks at the executable and the folders of the library.
func (s *machineState) fingerprint() fingerprint {
	var text string
	for _, path := range append([]string{s.python.Executable}, s.python.Library...) {
		var stat unix.Stat_t
		if err := unix.Stat(path, &stat); err != nil {
			text += fmt.Sprintln(path, err)
			continue
		}
		text += fmt.Sprintln(path, stat.Dev, stat.Ino, stat.Size, stat.Mtim.Nano())
	}
	return fingerprint(text)
}
