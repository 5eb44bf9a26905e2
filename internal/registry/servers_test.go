package registry

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

func TestServersCanBeAddedAndRemoved(t *testing.T) {
	files, crm := newFake("files", downstream.Tool{Name: "read"}), newFake("crm", downstream.Tool{Name: "get"})
	r, err := New([]Server{files}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	changes := 0
	r.OnChange(func() { changes++ })

	if err := r.SetServers([]Server{crm, files}); err != nil {
		t.Fatal(err)
	}
	if got, want := r.Names(), []string{"mcp__crm__get", "mcp__files__read"}; !slices.Equal(got, want) {
		t.Errorf("names %v, want %v", got, want)
	}
	if servers := r.Servers(); len(servers) != 2 || servers[0].Name != "crm" {
		t.Errorf("servers are %+v, want them in the new order", servers)
	}
	if changes != 1 {
		t.Errorf("told of %d changes, want 1", changes)
	}

	// A server that came later is followed like the others.
	crm.up(downstream.Tool{Name: "get"}, downstream.Tool{Name: "put"})
	if got := r.Names(); !slices.Contains(got, "mcp__crm__put") {
		t.Errorf("names %v lack what the added server added", got)
	}

	if err := r.SetServers([]Server{files}); err != nil {
		t.Fatal(err)
	}
	if got, want := r.Names(), []string{"mcp__files__read"}; !slices.Equal(got, want) {
		t.Errorf("names %v, want %v", got, want)
	}
	_, err = r.CallTool(t.Context(), "mcp__crm__get", nil)
	var te *tool.Error
	if !errors.As(err, &te) || te.Kind != tool.KindUnknown || !strings.Contains(te.Message, `server "crm" is no longer configured`) {
		t.Errorf("a call of a removed server's tool ended with %v", err)
	}

	// Once it is back, its tools are.
	if err := r.SetServers([]Server{files, crm}); err != nil {
		t.Fatal(err)
	}
	crm.answers(`{"content":[{"type":"text","text":"1"}]}`)
	if value, err := r.CallTool(t.Context(), "mcp__crm__get", nil); err != nil || string(value) != "1" {
		t.Errorf("got %s, %v", value, err)
	}
}

func TestTwoServersOfOneNameAreRefusedAndChangeNothing(t *testing.T) {
	one := newFake("one", downstream.Tool{Name: "a"})
	r, err := New([]Server{one}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.SetServers([]Server{newFake("two"), newFake("two")}); err == nil || !strings.Contains(err.Error(), `two are named "two"`) {
		t.Errorf("got %v", err)
	}
	if got := r.Names(); !slices.Equal(got, []string{"mcp__one__a"}) {
		t.Errorf("names %v", got)
	}
}

func TestANewServerMayRenameTheToolsOfAnother(t *testing.T) {
	// The part of a-b is a_b until a server has that very name.
	dashed := newFake("a-b", downstream.Tool{Name: "t"})
	r, err := New([]Server{dashed}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Names(); !slices.Equal(got, []string{"mcp__a_b__t"}) {
		t.Errorf("names %v", got)
	}
	if err := r.SetServers([]Server{dashed, newFake("a_b", downstream.Tool{Name: "u"})}); err != nil {
		t.Fatal(err)
	}
	if got, want := r.Names(), []string{"mcp__a_b_2__t", "mcp__a_b__u"}; !slices.Equal(got, want) {
		t.Errorf("names %v, want %v", got, want)
	}
}
