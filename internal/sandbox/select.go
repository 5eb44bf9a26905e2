package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The names that Select gives a meaning of their own.
const (
	// Auto takes the first isolated backend that works here.
	Auto = "auto"
	// None is the unconfined backend, taken only when it is named.
	None = "none"
)

// preference is the order in which Auto looks. What is not in it has to be
// named.
var preference = []string{"docker", "seatbelt", "native"}

// Select picks the backend that name asks for; empty means Auto. reason says
// in a sentence what was taken and, for Auto, what was passed over and why.
//
// A named backend that is unavailable is an error with its remedy, never
// replaced by another. One that is not isolated is refused unless it was
// named None. Errors wrap ErrUnavailable, unless ctx ended.
func Select(ctx context.Context, name string, candidates []Backend) (taken Backend, is Capabilities, reason string, err error) {
	if name != "" && name != Auto {
		taken, is, err = named(ctx, name, candidates)
		if err != nil {
			return nil, Capabilities{}, "", err
		}
		return taken, is, fmt.Sprintf("%s, because the configuration names it", name), nil
	}
	var refusals []error
	for _, name := range preference {
		i := slices.IndexFunc(candidates, func(b Backend) bool { return b.Name() == name })
		if i < 0 {
			continue
		}
		is, err := probe(ctx, candidates[i])
		if err == nil {
			return candidates[i], is, because(name, refusals), nil
		}
		if ctx.Err() != nil {
			return nil, Capabilities{}, "", err
		}
		refusals = append(refusals, err)
	}
	if len(refusals) == 0 {
		refusals = []error{fmt.Errorf("sandbox: no isolating backend is built in for this system: %w", ErrUnavailable)}
	}
	return nil, Capabilities{}, "", fmt.Errorf("sandbox: none can be used here: %w", errors.Join(refusals...))
}

func named(ctx context.Context, name string, candidates []Backend) (Backend, Capabilities, error) {
	var names []string
	for _, b := range candidates {
		if b.Name() == name {
			is, err := probe(ctx, b)
			return b, is, err
		}
		names = append(names, b.Name())
	}
	return nil, Capabilities{}, fmt.Errorf("sandbox: %q is not available on this system; use %s or one of %s: %w",
		name, Auto, strings.Join(names, ", "), ErrUnavailable)
}

// probe refuses a backend that does not isolate, whatever it says otherwise.
func probe(ctx context.Context, b Backend) (Capabilities, error) {
	is, err := b.Probe(ctx)
	if err != nil {
		return Capabilities{}, err
	}
	if !is.Isolated && b.Name() != None {
		return Capabilities{}, fmt.Errorf("sandbox: %s cannot cut programs off from network and files here: %w", b.Name(), ErrUnavailable)
	}
	return is, nil
}

func because(name string, refusals []error) string {
	if len(refusals) == 0 {
		return name + ", the first choice"
	}
	texts := make([]string, len(refusals))
	for i, err := range refusals {
		texts[i] = err.Error()
	}
	return fmt.Sprintf("%s, because: %s", name, strings.Join(texts, "; "))
}
