package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
)

func TestRequestsAreBoundedAndCountedUntilTheyAreDone(t *testing.T) {
	table := newInflight(2)
	add := func(key string) (*request, error) {
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		r, err := table.add(key, cancel)
		if err != nil && ctx.Err() != nil {
			t.Error("a refused request's context is the caller's to end")
		}
		return r, err
	}
	a, err := add("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := add("a"); !errors.Is(err, errDuplicateID) {
		t.Errorf("same id again: %v", err)
	}
	b, err := add("b")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := add("c"); !errors.Is(err, errTooMany) {
		t.Errorf("one too many: %v", err)
	}
	if !a.settle() {
		t.Error("a request that was not cancelled is not to be answered")
	}
	// Its answer is still being written: the place is taken, the id is free.
	if _, err := add("a"); !errors.Is(err, errTooMany) {
		t.Errorf("while the answer is written: %v", err)
	}
	a.done()
	again, err := add("a")
	if err != nil {
		t.Fatal(err)
	}
	table.cancel("b")
	if !b.isCancelled() || b.settle() {
		t.Error("a cancelled request is to be answered")
	}
	left := table.end()
	if _, err := add("d"); !errors.Is(err, errEnding) {
		t.Errorf("while ending: %v", err)
	}
	b.done()
	select {
	case <-left:
		t.Error("the table is empty with one request left")
	default:
	}
	again.done()
	<-left
}

func TestKeysOfIDs(t *testing.T) {
	for id, want := range map[string]string{
		`1`: "n1", `-2.5`: "n-2.5", `"1"`: "s1", `"\u0061"`: "sa", `""`: "s",
		`null`: "", `true`: "", `{}`: "", `[1]`: "", ``: "",
	} {
		got, ok := idKey(json.RawMessage(id))
		if got != want || ok != (want != "") {
			t.Errorf("idKey(%s) = %q, %v; want %q", id, got, ok, want)
		}
	}
}
