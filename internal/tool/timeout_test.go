package tool

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestACallsTimeEndsAsADeadline(t *testing.T) {
	ctx, cancel := WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	derived, stop := context.WithCancel(context.WithValue(ctx, "key", "value")) //nolint:revive,staticcheck // only here
	defer stop()
	<-derived.Done()
	if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if err := context.Cause(derived); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("derived: got %v", err)
	}
}

func TestACancelledCallIsNotOutOfTime(t *testing.T) {
	parent, stop := context.WithCancel(t.Context())
	ctx, cancel := WithTimeout(parent, time.Hour)
	defer cancel()
	if ctx.Err() != nil {
		t.Fatal(ctx.Err())
	}
	stop()
	<-ctx.Done()
	if err := ctx.Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestTheClockStandsStillWhilePaused(t *testing.T) {
	const limit = 20 * time.Millisecond
	ctx, cancel := WithTimeout(t.Context(), limit)
	defer cancel()
	outer, inner := Pause(context.WithValue(ctx, "key", "value")), Pause(ctx) //nolint:revive,staticcheck // only here
	inner()
	inner() // once is enough
	select {
	case <-ctx.Done():
		t.Fatal("the clock ran while the call was paused")
	case <-time.After(5 * limit):
	}
	outer()
	<-ctx.Done()
	if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestAllClocksStandStillWhilePaused(t *testing.T) {
	const limit = 20 * time.Millisecond
	over := errors.New("over")
	run, endRun := WithTimeoutCause(t.Context(), limit, over)
	defer endRun()
	call, endCall := WithTimeout(run, time.Hour)
	defer endCall()
	resume := PauseAll(call)
	select {
	case <-run.Done():
		t.Fatal("the run's clock ran while all were paused")
	case <-time.After(5 * limit):
	}
	resume()
	<-call.Done()
	if !errors.Is(run.Err(), context.DeadlineExceeded) || !errors.Is(context.Cause(run), over) || !errors.Is(context.Cause(call), over) {
		t.Errorf("got %v, %v, %v", run.Err(), context.Cause(run), context.Cause(call))
	}
}

func TestACallWithoutAClockIsNotPaused(t *testing.T) {
	Pause(t.Context())()
}
