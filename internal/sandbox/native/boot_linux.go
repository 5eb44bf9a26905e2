package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// launch boots a sandbox and starts argv in it.
func (b *backend) launch(ctx context.Context, state *machineState, spec sandbox.Spec, argv []string) (*instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	i, err := b.boot(state)
	if err != nil {
		return nil, err
	}
	if err := i.begin(ctx, spec, state.plan(spec, argv)); err != nil {
		return nil, err
	}
	return i, nil
}

// boot makes the cgroups, the streams and a supervisor in its namespaces, which
// builds the root and waits for a plan. On failure nothing is left.
func (b *backend) boot(state *machineState) (*instance, error) {
	return b.bootFor(state, nil)
}

// bootFor does so for a zygote too, if there is a socket for its requests.
func (b *backend) bootFor(state *machineState, requests *os.File) (*instance, error) {
	group, err := state.newGroup()
	if err != nil {
		return nil, err
	}
	files := &fileSet{}
	defer files.closeAll()
	i, err := newInstance(b.logger, group, files)
	if err == nil {
		err = b.startSupervisor(i, state, files, requests)
	}
	if err != nil {
		i.discard()
		group.remove(b.logger)
		return nil, err
	}
	b.running.Go(i.watch)
	// It fits into the socket. Not being able to send means that the supervisor
	// has died: began says so.
	_ = json.NewEncoder(i.control).Encode(state.rootPlan(requests != nil))
	return i, nil
}

func (b *backend) startSupervisor(i *instance, state *machineState, files *fileSet, requests *os.File) error {
	trees, err := state.openTrees(files)
	if err != nil {
		return explainHere(err)
	}
	extra := append([]*os.File{i.theirControl}, trees...)
	attributes := state.user.attributes()
	if requests != nil {
		extra = append(extra, requests)
		attributes.AmbientCaps = slices.Concat(attributes.AmbientCaps, zygoteCapabilities)
		// Who sees nothing beyond its own cgroup can put no run into another
		// one. Every run makes a namespace of its own.
		attributes.Cloneflags &^= unix.CLONE_NEWCGROUP
	}
	folder, err := i.group.open()
	if err != nil {
		return err
	}
	if folder != nil {
		files.add(folder)
		attributes.UseCgroupFD, attributes.CgroupFD = true, int(folder.Fd())
	}
	process := &exec.Cmd{
		Path: "/proc/self/exe", // this binary, even when its file is replaced
		Args: []string{supervisorName},
		// A single processor's worth of threads; and so the Go runtime has no
		// need to look for cgroup limits.
		Env:         []string{"GOMAXPROCS=1"},
		Dir:         "/",
		Stdin:       i.theirInput,
		Stdout:      i.theirChannel,
		Stderr:      i.theirOutput,
		ExtraFiles:  extra,
		SysProcAttr: attributes,
	}
	if err := i.group.start(process.Start); err != nil {
		return explainExec(err)
	}
	i.first = startedFirst{process}
	return nil
}

// openTrees opens what the sandbox is shown, where this process has the rights:
// the sandbox's user could not reach what is in root's home.
func (s *machineState) openTrees(files *fileSet) ([]*os.File, error) {
	if !s.user.privileged {
		return nil, nil
	}
	var trees []*os.File
	add := func(fd int, err error) error {
		if err == nil {
			tree := os.NewFile(uintptr(fd), "tree")
			files.add(tree)
			trees = append(trees, tree)
		}
		return err
	}
	for _, source := range s.layout.layers {
		if err := add(openLayer(source)); err != nil {
			return nil, err
		}
	}
	for _, b := range s.layout.binds {
		if b.Layer != 0 {
			continue
		}
		if err := add(openTree(b)); err != nil {
			return nil, err
		}
	}
	if s.ownDevices {
		if err := add(newDevices()); err != nil {
			return nil, err
		}
	}
	return trees, nil
}

func (s *machineState) newGroup() (*group, error) {
	return s.groups.create(fmt.Sprintf("%s.%016x", s.owner, rand.Uint64()))
}

// rehearse makes a group in one hierarchy, with limits, has a process born in
// it, and removes it: some look usable and are not, for want of a right, for
// this process's scheduling class, or for what is in the folders around.
func (b *backend) rehearse(state *machineState, h hierarchy) error {
	g, err := (&machineState{owner: state.owner, groups: hierarchies{h}}).newGroup()
	if err != nil {
		return err
	}
	defer g.remove(b.logger)
	if err := g.start(func() error { return nil }); err != nil {
		return err
	}
	if err := g.limit(withDefaults(sandbox.Spec{})); err != nil {
		return err
	}
	folder, err := g.open()
	if folder == nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	return bear(folder)
}

// bear has a process born in a cgroup of version 2. It fails at once, after its
// birth, for a working folder that is none.
func bear(cgroup *os.File) error {
	_, err := syscall.ForkExec("/", nil, &syscall.ProcAttr{
		Dir: "/proc/self/exe",
		Sys: &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(cgroup.Fd())},
	})
	if !errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("cgroup: start a process in %s: %w", cgroup.Name(), err)
	}
	return nil
}

// begin sends a booted supervisor its plan and returns when it has started the
// runner. On failure nothing is left.
func (i *instance) begin(ctx context.Context, spec sandbox.Spec, p *plan) error {
	err := i.group.limit(spec)
	if err == nil {
		err = i.tell(ctx, p)
	}
	if err != nil {
		i.abandon()
	}
	return err
}

// tell sends a booted supervisor its plan and returns when it has done it.
func (i *instance) tell(ctx context.Context, p *plan) error {
	stop := context.AfterFunc(ctx, func() { _ = i.Close() })
	_ = json.NewEncoder(i.control).Encode(p)
	err := <-i.began
	if err != nil {
		err = explainHere(err)
	}
	if !stop() {
		err = ctx.Err()
	}
	return err
}

// abandon ends a sandbox that nobody will use.
func (i *instance) abandon() {
	_ = i.Close()
	<-i.ended
	i.discard()
}

// explainHere explains a refusal on this machine.
func explainHere(err error) error {
	return explain(os.DirFS("/"), os.Geteuid() == 0, err)
}

// explainExec says why the supervisor could not be made: the namespaces, or
// the binary itself.
func explainExec(err error) error {
	if state, statErr := os.Stat("/proc/self/exe"); statErr == nil && os.Geteuid() == 0 && state.Mode()&0o001 == 0 {
		path, _ := os.Readlink("/proc/self/exe")
		return fmt.Errorf("%w: native: %s may be run by its owner only, but the sandbox runs it as user %d: chmod 0755 it (%w)",
			sandbox.ErrUnavailable, path, nobody, err)
	}
	return explainHere(err)
}

// A fileSet is the files that this process needs only until the supervisor has
// them.
type fileSet struct{ files []*os.File }

func (s *fileSet) add(file *os.File) { s.files = append(s.files, file) }

func (s *fileSet) closeAll() {
	for _, file := range s.files {
		_ = file.Close()
	}
}
