package main

import (
	"context"
	"errors"
	"slices"
	"testing"
)

func TestInterleaveTakesTurnsAndLeavesOutTheWarmUp(t *testing.T) {
	var order []string
	take := func(name string, values ...float64) probe {
		return probe{name: name, take: func(context.Context) (float64, error) {
			order = append(order, name)
			v := values[0]
			values = values[1:]
			return v, nil
		}}
	}
	out, err := interleave(t.Context(), 2, 1, take("a", 100, 1, 2), take("b", 900, 3, 5))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "a", "b", "a", "b"}; !slices.Equal(order, want) {
		t.Errorf("taken in the order %v", order)
	}
	if out[0].N != 2 || out[0].Max != 2 || out[1].N != 2 || out[1].Mean != 4 {
		t.Errorf("series %+v", out)
	}
}

func TestInterleaveKeepsWhatWasTakenBeforeAFailure(t *testing.T) {
	broken := errors.New("broken")
	left := 2
	out, err := interleave(t.Context(), 5, 0, probe{name: "a", take: func(context.Context) (float64, error) {
		if left == 0 {
			return 0, broken
		}
		left--
		return 1, nil
	}})
	if !errors.Is(err, broken) || out[0].N != 2 {
		t.Errorf("series %+v, error %v", out, err)
	}
}

func TestInterleaveEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := interleave(ctx, 1, 0, probe{name: "a", before: pause(1 << 40), take: func(context.Context) (float64, error) { return 1, nil }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
