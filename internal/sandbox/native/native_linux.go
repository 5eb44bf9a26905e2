package native

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ptc-mcp/ptc-mcp/images/runner"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// backend is the sandbox.Backend of Linux.
type backend struct {
	python  string
	logger  *slog.Logger
	code    code           // the runner
	running sync.WaitGroup // sandboxes, and what is done in the background
	reserve reserve
	zygotes zygotes

	// preparing is held by who finds out what this machine offers; what it
	// found is in prepared once that has succeeded.
	preparing chan struct{}
	prepared  atomic.Pointer[machineState]
}

// machineState is what is the same for every start.
type machineState struct {
	python *interpreter
	layout *layout
	groups hierarchies
	user   user
	owner  string // prefix of cgroup names
	filter packedFilter
	// ownDevices is true where each sandbox gets device nodes of its own.
	ownDevices bool
}

// New returns the backend. It looks at nothing before the first Probe or
// Start, and it implements io.Closer: Close waits until every closed sandbox
// is removed.
func New(config Config) sandbox.Backend {
	logger := config.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	b := newBackend(config.Python, logger)
	b.zygotes.off = config.NoZygote
	return b
}

func newBackend(python string, logger *slog.Logger) *backend {
	load, serve := runner.Stages()
	return &backend{
		python: python, logger: logger, code: code{load: load, run: serve},
		preparing: make(chan struct{}, 1),
		zygotes:   zygotes{patience: zygotePatience, idle: zygoteIdle, booting: make(chan struct{}, 1)},
	}
}

// Name returns "native".
func (*backend) Name() string { return name }

// Probe finds the interpreter, and boots it once in a sandbox. Success is
// remembered; failure is not, since a user may open a switch meanwhile.
func (b *backend) Probe(ctx context.Context) (sandbox.Capabilities, error) {
	state, err := b.prepare(ctx)
	if err != nil {
		return sandbox.Capabilities{}, err
	}
	c := state.capabilities()
	b.zygotes.describe(&c)
	return c, nil
}

// Start boots one sandbox; see sandbox.Backend.
func (b *backend) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Instance, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	state, err := b.prepare(ctx)
	if err != nil {
		return nil, err
	}
	if i, err := b.startFromZygote(ctx, state, withDefaults(spec)); err == nil {
		return i, nil
	}
	// Whether anything works at all, the plain way shows.
	i, err := b.startFromReserve(ctx, state, withDefaults(spec), b.code.plain(state.python.Executable))
	if err != nil {
		if ctx.Err() == nil {
			// What was found may hold no longer, say after an upgrade of Python:
			// the next start looks again.
			b.prepared.CompareAndSwap(state, nil)
			b.reserve.drop()
		}
		return nil, err
	}
	return i, nil
}

// Close waits for the end of every sandbox. No Start may follow.
func (b *backend) Close() error {
	b.reserve.close()
	b.zygotes.close()
	b.running.Wait()
	return nil
}

// Limits for fields of a Spec that are zero.
const (
	defaultMemory    = 256 << 20
	defaultCPUs      = 1
	defaultProcesses = 64
	defaultScratch   = 64 << 20
	defaultOpenFiles = 256
)

func withDefaults(spec sandbox.Spec) sandbox.Spec {
	if spec.MemoryBytes == 0 {
		spec.MemoryBytes = defaultMemory
	}
	if spec.CPUs == 0 {
		spec.CPUs = defaultCPUs
	}
	if spec.Processes == 0 {
		spec.Processes = defaultProcesses
	}
	if spec.ScratchBytes == 0 {
		spec.ScratchBytes = defaultScratch
	}
	if spec.OpenFiles == 0 {
		spec.OpenFiles = defaultOpenFiles
	}
	return spec
}

// prepare finds out, once, how sandboxes are made here.
func (b *backend) prepare(ctx context.Context) (*machineState, error) {
	if state := b.prepared.Load(); state != nil {
		return state, nil
	}
	select {
	case b.preparing <- struct{}{}:
		defer func() { <-b.preparing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if state := b.prepared.Load(); state != nil {
		return state, nil
	}
	release, err := kernelRelease()
	if err != nil {
		return nil, err
	}
	if err := checkKernel(release); err != nil {
		return nil, err
	}
	state := &machineState{user: sandboxUser(), owner: owner()}
	state.ownDevices = state.user.privileged && canMakeDevices(b.logger)
	for _, h := range findHierarchies() {
		if busy := (hierarchies{h}).sweep(); len(busy) > 0 {
			b.running.Go(func() { sweepAgain(busy) })
		}
		if err := b.rehearse(state, h); err != nil {
			b.logger.Debug("cgroup hierarchy not used", "path", h.dir, "error", err)
			continue
		}
		state.groups = append(state.groups, h)
	}
	filter, err := compileFilter(runtime.GOARCH, state.refused()...)
	if err != nil {
		return nil, fmt.Errorf("%w: native: %w", sandbox.ErrUnavailable, err)
	}
	state.filter = pack(filter)
	python, err := findInterpreter(ctx, b.python, func(python *interpreter) error {
		return b.try(ctx, state, python)
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, sandbox.ErrUnavailable):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: native: %w", sandbox.ErrUnavailable, err)
	}
	b.logger.Debug("native sandbox ready", "python", python.Executable, "version", python.Version,
		"memory", state.groups.version(memoryController), "processes", state.groups.version(pidsController),
		"cpu", state.groups.version(cpuController), "privileged", state.user.privileged)
	b.prepared.Store(state)
	return state, nil
}

// try boots an interpreter in a sandbox: as a zygote, which is then the one in
// use, or the plain way, where it imports what most programs do. An error that
// wraps ErrUnavailable is not the interpreter's fault.
func (b *backend) try(ctx context.Context, state *machineState, python *interpreter) error {
	if err := state.lay(python); err != nil {
		return err
	}
	err := b.tryOnce(ctx, state)
	if refusal := refusedOverlay(err); refusal != nil {
		state.layout.share(refusal)
		b.zygotes.forgive()
		err = b.tryOnce(ctx, state)
	}
	return err
}

func (b *backend) tryOnce(ctx context.Context, state *machineState) error {
	err := b.tryZygote(ctx, state)
	if err == nil || refusedOverlay(err) != nil {
		return err
	}
	instance, err := b.launch(ctx, state, withDefaults(sandbox.Spec{}),
		[]string{state.python.Executable, "-I", "-S", "-B", "-c", "import json, select, socket"})
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = instance.Close() })
	defer stop()
	said := make([]byte, 4096)
	n := 0
	for err == nil && n < len(said) {
		var m int
		m, err = instance.Output().Read(said[n:])
		n += m
	}
	status, err := instance.Wait()
	_ = instance.Close()
	if err != nil {
		return err
	}
	if status.Reason != sandbox.Exited || status.Code != 0 {
		return fmt.Errorf("does not work in the sandbox: %s, code %d %s: %s", status.Reason, status.Code, status.Signal, lastLine(said[:n]))
	}
	return nil
}

// lay works out the layout for an interpreter, as this machine allows it.
func (s *machineState) lay(python *interpreter) error {
	l, err := newLayout(python)
	if err != nil {
		return err
	}
	if s.user.privileged {
		err = l.readableByOthers()
	} else {
		err = l.readableByUs()
	}
	if err != nil {
		return err
	}
	if !s.ownDevices {
		l.hostDevices()
	}
	mounts, err := mountPoints()
	if err != nil {
		return err
	}
	l.separate(mounts, s.user)
	s.python, s.layout = python, l
	return nil
}

// refused names calls of the shared allow list that are not allowed here, for
// want of a cgroup that would bound what they give.
func (s *machineState) refused() []string {
	var names []string
	if !s.groups.bounds(memoryController) {
		names = append(names, "memfd_create") // its memory counts for no process
	}
	if !s.groups.bounds(cpuController) {
		names = append(names, "sched_setaffinity")
	}
	return names
}

func (s *machineState) capabilities() sandbox.Capabilities {
	c := sandbox.Capabilities{
		Isolated:  true,
		Memory:    s.groups.bounds(memoryController),
		CPUs:      s.groups.bounds(cpuController),
		Processes: true, // by cgroup, or by a limit that the user namespace makes per sandbox
		Scratch:   true,

		OwnFiles:   len(s.layout.shared) == 0,
		OwnDevices: s.ownDevices,
	}
	by := func(controller, otherwise string) string {
		if version := s.groups.version(controller); version != "" {
			return version
		}
		return otherwise
	}
	c.Description = fmt.Sprintf("Linux namespaces, Python %s at %s; memory by %s, processes by %s, CPU by %s",
		s.python.Version, s.python.Executable,
		by(memoryController, "rlimit"), by(pidsController, "rlimit"), by(cpuController, "processor affinity"))
	var loose []string
	if !c.Memory {
		loose = append(loose, "memory is bounded for each process, not for all together")
	}
	if !c.CPUs {
		loose = append(loose, "CPU use is bounded in whole cores only")
	}
	if len(loose) > 0 {
		c.Warnings = append(c.Warnings, strings.Join(loose, ", and ")+
			", because no cgroup with that controller is writable here: start ptc-mcp as root, or through `systemd-run --user --scope -p Delegate=yes`")
	}
	if shared := s.layout.sharedWarning(); shared != "" {
		c.Warnings = append(c.Warnings, shared)
	}
	if !s.user.privileged && os.Geteuid() == 0 {
		c.Warnings = append(c.Warnings, "sandboxes have the user id of ptc-mcp, which is root in a container: run ptc-mcp as an ordinary user there")
	}
	return c
}
