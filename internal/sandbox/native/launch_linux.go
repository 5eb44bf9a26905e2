package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// pipeBytes is the size asked for the pipes of the channel: large results pass
// with fewer switches. It is what an ordinary user may have.
const pipeBytes = 1 << 20

// launch starts a supervisor, sends it its plan, and returns when it has
// started argv.
func (b *backend) launch(ctx context.Context, state *machineState, spec sandbox.Spec, argv []string) (sandbox.Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	group, err := b.takeGroup(state)
	if err != nil {
		return nil, err
	}
	if err := group.limit(spec); err != nil {
		group.remove(b.logger)
		return nil, err
	}
	i, err := b.boot(ctx, state, spec, argv, group)
	if err != nil {
		return nil, err
	}
	select {
	case err = <-i.began:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		_ = i.Close()
		<-i.ended
		i.discard()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, explain(os.DirFS("/"), os.Geteuid() == 0, err)
	}
	return i, nil
}

// boot makes the streams and the supervisor. On failure nothing is left.
func (b *backend) boot(ctx context.Context, state *machineState, spec sandbox.Spec, argv []string, group *group) (*instance, error) {
	files := &fileSet{}
	defer files.closeAll()
	i, err := newInstance(b.logger, group, files)
	if err != nil {
		group.remove(b.logger)
		return nil, err
	}
	fail := func(err error) (*instance, error) {
		i.discard()
		group.remove(b.logger)
		return nil, err
	}
	p, trees, err := state.plan(spec, argv, files)
	if err != nil {
		return fail(explain(os.DirFS("/"), os.Geteuid() == 0, err))
	}
	attributes := state.user.attributes()
	folder, err := group.open()
	if err != nil {
		return fail(err)
	}
	if folder != nil {
		files.add(folder)
		attributes.UseCgroupFD, attributes.CgroupFD = true, int(folder.Fd())
	}
	i.process = &exec.Cmd{
		Path: "/proc/self/exe", // this binary, even when its file is replaced
		Args: []string{supervisorName},
		// A single processor's worth of threads; and so the Go runtime has no
		// need to look for cgroup limits.
		Env:         []string{"GOMAXPROCS=1"},
		Dir:         "/",
		Stdin:       i.theirInput,
		Stdout:      i.theirChannel,
		Stderr:      i.theirOutput,
		ExtraFiles:  append([]*os.File{i.theirControl}, trees...),
		SysProcAttr: attributes,
	}
	if err := group.start(i.process.Start); err != nil {
		return fail(explainExec(err))
	}
	b.running.Add(1)
	go func() {
		defer b.running.Done()
		i.watch()
	}()
	stop := context.AfterFunc(ctx, func() { _ = i.Close() })
	defer stop()
	if err := json.NewEncoder(i.control).Encode(p); err != nil && !errors.Is(err, syscall.EPIPE) && ctx.Err() == nil {
		b.logger.Debug("plan not sent", "error", err) // the report says why
	}
	return i, nil
}

// explainExec says why the supervisor could not be made: the namespaces, or
// the binary itself.
func explainExec(err error) error {
	if state, statErr := os.Stat("/proc/self/exe"); statErr == nil && os.Geteuid() == 0 && state.Mode()&0o001 == 0 {
		path, _ := os.Readlink("/proc/self/exe")
		return fmt.Errorf("%w: native: %s may be run by its owner only, but the sandbox runs it as user %d: chmod 0755 it (%w)",
			sandbox.ErrUnavailable, path, nobody, err)
	}
	return explain(os.DirFS("/"), os.Geteuid() == 0, err)
}

// plan puts together what one supervisor is told. Where this process has the
// rights, it opens the folders to show itself: the sandbox's user could not
// reach those in root's home.
func (s *machineState) plan(spec sandbox.Spec, argv []string, files *fileSet) (*plan, []*os.File, error) {
	p := &plan{
		Binds: append([]bind(nil), s.layout.binds...),
		Links: s.layout.links,
		Masks: s.layout.masks,
		Scratch: scratch{
			Bytes: spec.ScratchBytes,
			// One for each 4 KiB block: a full folder of tiny files.
			Inodes: max(64, spec.ScratchBytes/4096),
		},
		Argv:   argv,
		Filter: s.filter,
		Limits: []limit{
			{Resource: unix.RLIMIT_NOFILE, Value: uint64(spec.OpenFiles)},
			{Resource: unix.RLIMIT_CORE, Value: 0},
			{Resource: unix.RLIMIT_MEMLOCK, Value: 64 << 10},
			{Resource: unix.RLIMIT_MSGQUEUE, Value: 0},
			{Resource: unix.RLIMIT_NPROC, Value: uint64(spec.Processes), Shared: true},
		},
	}
	if !s.groups.bounds(memoryController) {
		memory := uint64(spec.MemoryBytes)
		// The address space is larger than what is used: thread stacks, arenas.
		p.Limits = append(p.Limits,
			limit{Resource: unix.RLIMIT_DATA, Value: memory, RunnerOnly: true},
			limit{Resource: unix.RLIMIT_AS, Value: 2*memory + 256<<20, RunnerOnly: true})
	}
	if !s.groups.bounds(cpuController) {
		p.CPUs = choose(int(math.Ceil(spec.CPUs)))
	}
	if !s.user.privileged {
		return p, nil, nil
	}
	var trees []*os.File
	for n := range p.Binds {
		fd, err := openTree(p.Binds[n])
		if err != nil {
			return nil, nil, err
		}
		tree := os.NewFile(uintptr(fd), p.Binds[n].Source)
		files.add(tree)
		trees = append(trees, tree)
		p.Binds[n].Tree = firstTreeFD + n
	}
	return p, trees, nil
}

// choose picks processors at random among those this process may use; nil
// means all of them.
func choose(count int) []int {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil || allowed.Count() <= count {
		return nil
	}
	var cpus []int
	for cpu := 0; len(cpus) < allowed.Count(); cpu++ {
		if allowed.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	rand.Shuffle(len(cpus), func(i, j int) { cpus[i], cpus[j] = cpus[j], cpus[i] })
	return cpus[:count]
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
