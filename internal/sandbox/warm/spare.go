package warm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

const (
	// bootTimeout bounds one boot, from Start to the runner's first frame.
	bootTimeout = time.Minute
	// adoptTimeout is how old a boot may get before a run that wants a sandbox
	// starts one of its own: far more than a boot takes, so only one that is
	// stuck, or waits for an image, gets there.
	adoptTimeout = 2 * time.Second
)

// spare is one sandbox of the pool, from the beginning of its boot until it is
// taken or dropped.
type spare struct {
	spec   sandbox.Spec
	life   context.Context // ends when the spare is dropped
	drop   context.CancelFunc
	began  time.Time
	opened chan struct{} // closed when the inner backend's Start has returned
	taken  chan struct{} // closed when the spare has left the pool for a run

	// Set when opened is closed. err says why there is no instance.
	instance     sandbox.Instance
	err          error
	channel      io.ReadWriteCloser
	output       io.Reader
	first        *early // the first frame
	more, prints *early // what comes after it, and output: nothing, of a healthy one

	// Guarded by Pool.mu.
	claimed bool      // a run waits for opened
	ready   time.Time // when the first frame had come; zero before
}

func (p *Pool) newSpare(spec sandbox.Spec, now time.Time) *spare {
	s := &spare{spec: spec, began: now, opened: make(chan struct{}), taken: make(chan struct{})}
	s.life, s.drop = context.WithCancel(p.life)
	return s
}

// open takes over what the inner backend's Start returned.
func (s *spare) open(instance sandbox.Instance, err error) {
	s.instance, s.err = instance, err
	if err == nil {
		s.first, s.more, s.prints = newEarly(), newEarly(), newEarly()
		channel, output := instance.Channel(), instance.Output()
		s.channel = replayed{&replay{[]*early{s.first, s.more}, channel}, channel}
		s.output = &replay{[]*early{s.prints}, output}
		go s.readChannel(channel)
		go s.prints.ahead(output)
	}
	close(s.opened)
}

func (s *spare) readChannel(channel io.Reader) {
	frame, whole, err := firstFrame(channel)
	s.first.set(frame, err)
	switch {
	case whole:
		s.more.ahead(channel)
	case err == nil:
		s.more.set(nil, nil) // not a runner's; whoever uses it reads on and sees
	}
}

// isOpened reports whether the inner backend's Start has returned.
func (s *spare) isOpened() bool {
	select {
	case <-s.opened:
		return true
	default:
		return false
	}
}

// isQuiet reports whether the sandbox lives, as far as is known, and has said
// nothing but its first frame.
func (s *spare) isQuiet() bool { return !s.more.isDone() && !s.prints.isDone() }

// look waits for the end of the boot, then for the spare's own end. It returns
// nil when the spare was taken or dropped, else what is wrong with it.
func (s *spare) look(booting context.Context, ready func()) error {
	select {
	case <-s.first.done:
		if s.first.err != nil {
			return fmt.Errorf("the sandbox ended before it was ready: %w", s.first.err)
		}
		ready()
	case <-s.prints.done:
		return s.printed()
	case <-s.taken:
		return nil
	case <-booting.Done():
		return booting.Err()
	}
	select {
	case <-s.more.done:
		if s.more.err != nil {
			return fmt.Errorf("the sandbox ended while it was waiting: %w", s.more.err)
		}
		return errors.New("the sandbox sent more than one small frame before it had a program")
	case <-s.prints.done:
		return s.printed()
	case <-s.taken:
	case <-s.life.Done():
	}
	return nil
}

func (s *spare) printed() error {
	if len(s.prints.data) == 0 {
		return fmt.Errorf("the sandbox ended while it was waiting: %w", s.prints.err)
	}
	return fmt.Errorf("the sandbox printed %.100q before it had a program", s.prints.data)
}

// keep boots a spare and stays with it until it is taken or dropped.
func (p *Pool) keep(s *spare) {
	defer s.drop()
	booting, cancel := context.WithTimeout(s.life, bootTimeout)
	defer cancel()
	instance, err := p.inner.Start(booting, s.spec)
	if p.opened(s, instance, err) {
		return
	}
	if err == nil {
		err = s.look(booting, func() { p.ready(s) })
	}
	if p.left(s, err) || instance == nil {
		return
	}
	if err := instance.Close(); err != nil {
		p.config.Logger.Warn("sandbox not closed", "error", err)
	}
}
