package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/sandboxtest"
)

var errNoEngine = fmt.Errorf("no engine; start Docker: %w", sandbox.ErrUnavailable)

func TestSelect(t *testing.T) {
	backend := func(name string) *sandboxtest.Fake { return &sandboxtest.Fake{Label: name} }
	broken := func(name string) *sandboxtest.Fake { return &sandboxtest.Fake{Label: name, Unavailable: errNoEngine} }
	open := func(name string) *sandboxtest.Fake { return &sandboxtest.Fake{Label: name, Unconfined: true} }

	for _, c := range []struct {
		name       string
		ask        string
		candidates []sandbox.Backend
		want       string // name of what is taken, empty for an error
		says       string // part of the reason or the error
	}{
		{"auto prefers docker", "auto", []sandbox.Backend{backend("native"), backend("docker")}, "docker", "first choice"},
		{"empty means auto", "", []sandbox.Backend{backend("docker")}, "docker", "first choice"},
		{"auto prefers seatbelt to native", "auto", []sandbox.Backend{broken("docker"), backend("native"), backend("seatbelt")}, "seatbelt", "no engine"},
		{"auto takes native last and says why", "auto", []sandbox.Backend{broken("docker"), backend("native")}, "native", "no engine"},
		{"auto never takes none", "auto", []sandbox.Backend{broken("docker"), open("none")}, "", "start Docker"},
		{"auto with only none says so", "auto", []sandbox.Backend{open("none")}, "", "no isolating backend"},
		{"auto passes over what does not isolate", "auto", []sandbox.Backend{open("docker"), backend("native")}, "native", "cannot cut"},
		{"none is taken when named", "none", []sandbox.Backend{backend("docker"), open("none")}, "none", "names it"},
		{"a named backend is taken", "native", []sandbox.Backend{backend("docker"), backend("native")}, "native", "names it"},
		{"a named backend that does not isolate is refused", "native", []sandbox.Backend{open("native")}, "", "cannot cut"},
		{"a named backend is never replaced", "docker", []sandbox.Backend{broken("docker"), backend("native")}, "", "start Docker"},
		{"an unknown name lists the known ones", "seatbelt", []sandbox.Backend{backend("docker"), backend("native")}, "", "docker, native"},
	} {
		t.Run(c.name, func(t *testing.T) {
			taken, is, reason, err := sandbox.Select(t.Context(), c.ask, c.candidates)
			if c.want == "" {
				if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got error %v, want one that wraps ErrUnavailable and says %q", err, c.says)
				}
				if taken != nil {
					t.Errorf("got %s along with an error", taken.Name())
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if taken.Name() != c.want || is.Description == "" || !strings.Contains(reason, c.says) {
				t.Errorf("got %s (%q), reason %q; want %s and a reason that says %q", taken.Name(), is.Description, reason, c.want, c.says)
			}
		})
	}
}

func TestSelectStopsWhenItsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	first := &sandboxtest.Fake{Label: "docker", Unavailable: fmt.Errorf("docker: probe: %w", context.Canceled)}
	cancel()
	_, _, _, err := sandbox.Select(ctx, sandbox.Auto, []sandbox.Backend{first, &sandboxtest.Fake{Label: "native"}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

func TestSpecRefusesWhatCannotWork(t *testing.T) {
	for _, spec := range []sandbox.Spec{
		{MemoryBytes: 1 << 20}, {CPUs: -1}, {Processes: -1}, {ScratchBytes: -1}, {OpenFiles: -1},
	} {
		if spec.Validate() == nil {
			t.Errorf("%+v is accepted", spec)
		}
	}
	if err := (sandbox.Spec{MemoryBytes: sandbox.MinMemoryBytes}).Validate(); err != nil {
		t.Error(err)
	}
}
