package native

import (
	"fmt"
	"math/rand/v2"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// takeGroup returns a cgroup for a new sandbox: the spare one if it is ready.
// The next is then made in the background.
func (b *backend) takeGroup(state *machineState) (*group, error) {
	var g *group
	select {
	case g = <-b.spare:
	default:
		var err error
		if g, err = state.newGroup(); err != nil {
			return nil, err
		}
	}
	if g.launcher != nil {
		b.running.Go(func() { b.refill(state) })
	}
	return g, nil
}

// refill makes the spare cgroup, unless there is one.
func (b *backend) refill(state *machineState) {
	if len(b.spare) > 0 {
		return
	}
	g, err := state.newGroup()
	if err != nil {
		b.logger.Debug("no spare cgroup", "error", err) // the next start will say why
		return
	}
	select {
	case b.spare <- g:
	default:
		g.remove(b.logger)
	}
}

func (s *machineState) newGroup() (*group, error) {
	return s.groups.create(fmt.Sprintf("%s.%016x", s.owner, rand.Uint64()))
}

// rehearse makes a group in one hierarchy, with limits, and removes it: some
// look usable and are not, for want of a right or for this process's
// scheduling class.
func (b *backend) rehearse(state *machineState, h hierarchy) error {
	g, err := (&machineState{owner: state.owner, groups: hierarchies{h}}).newGroup()
	if err != nil {
		return err
	}
	defer g.remove(b.logger)
	return g.limit(withDefaults(sandbox.Spec{}))
}
