package native

import (
	"bufio"
	"context"
	_ "embed" // the zygote's source
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// zygoteSource is what the zygote's interpreter runs.
//
//go:embed zygote.py
var zygoteSource string

// A zygote is an interpreter that has booted once and forks every run from
// itself, into namespaces of the run's own; see zygote.py. It is a child of a
// supervisor of its own, which makes those namespaces.
type zygote struct {
	base     *instance // its supervisor, and itself
	requests *os.File
	loaded   fingerprint
	// idle runs while no run does, and retires the zygote after idleLimit.
	idle      *time.Timer
	idleLimit time.Duration

	mutex   sync.Mutex
	started int  // runs, in all
	running int  // runs, now
	retired bool // takes no more; ends with its last run
}

// A code is what an interpreter runs, in two stages: what can be done once for
// many runs, and a run.
type code struct{ load, run string }

// plain is the argv of an interpreter that does both.
func (c code) plain(python string) []string {
	return []string{python, "-I", "-S", "-B", "-c", c.load + c.run}
}

// zygoteArgv is the argv of a zygote's interpreter.
func (s *machineState) zygoteArgv(c code) []string {
	// As zygote.py names them.
	calls := []int{
		unix.SYS_CLONE3, unix.SYS_SETNS, unix.SYS_UNSHARE, unix.SYS_PIDFD_OPEN, unix.SYS_PRCTL,
		unix.SYS_CAPSET, unix.SYS_SECCOMP, unix.SYS_LANDLOCK_RESTRICT_SELF, unix.SYS_CLOSE_RANGE,
	}
	return []string{
		s.python.Executable, "-I", "-S", "-B", "-c", zygoteSource,
		strings.Trim(fmt.Sprint(calls), "[]"), hex.EncodeToString(s.filter), c.load, c.run,
	}
}

// bootZygote starts a zygote and returns when it can fork.
func (b *backend) bootZygote(ctx context.Context, state *machineState) (*zygote, error) {
	z := &zygote{loaded: state.fingerprint(), idleLimit: b.zygotes.idle}
	z.idle = time.AfterFunc(time.Hour, z.retire)
	z.idle.Stop() // until its first run has ended
	var theirs *os.File
	if err := socketPair(unix.SOCK_SEQPACKET, &z.requests, &theirs); err != nil {
		return nil, fmt.Errorf("make a socket: %w", err)
	}
	base, err := b.bootFor(state, theirs)
	_ = theirs.Close()
	if err != nil {
		_ = z.requests.Close()
		return nil, err
	}
	z.base = base
	said := make(chan string, 1)
	b.running.Go(func() { said <- overhear(base, b.logger) })
	if err := base.tell(ctx, &plan{Argv: state.zygoteArgv(b.code)}); err != nil {
		z.end()
		if last := <-said; last != "" && ctx.Err() == nil {
			err = fmt.Errorf("%w: %s", err, last)
		}
		return nil, err
	}
	b.running.Go(func() {
		_, _ = z.requests.Read(make([]byte, 1)) // nothing is ever said, but the end
		z.retire()
	})
	return z, nil
}

// overhear logs what a zygote prints, which is its last words if it dies, and
// returns the last line.
func overhear(base *instance, logger *slog.Logger) string {
	last := ""
	lines := bufio.NewScanner(base.output)
	for lines.Scan() {
		last = lines.Text()
		logger.Debug("the zygote says", "line", last)
	}
	return last
}

// end kills a zygote with all its runs.
func (z *zygote) end() {
	_ = z.base.Close()
	<-z.base.ended
	_ = z.requests.Close()
	_ = z.base.channel.file.Close()
}

// retire lets a zygote's runs come to their ends, and then ends it.
func (z *zygote) retire() {
	z.mutex.Lock()
	first := !z.retired
	z.retired = true
	idle := z.running == 0
	z.idle.Stop()
	z.mutex.Unlock()
	if first && idle {
		z.end()
	}
}

// take counts one more run, unless there may be none.
func (z *zygote) take() bool {
	z.mutex.Lock()
	defer z.mutex.Unlock()
	if z.retired {
		return false
	}
	z.started++
	z.running++
	z.idle.Stop()
	return true
}

// give counts one run less.
func (z *zygote) give() {
	z.mutex.Lock()
	z.running--
	last := z.retired && z.running == 0
	if z.running == 0 && !z.retired {
		z.idle.Reset(z.idleLimit)
	}
	z.mutex.Unlock()
	if last {
		z.end()
	}
}

// startForked starts a sandbox from a zygote that take was true of.
func (b *backend) startForked(ctx context.Context, z *zygote, state *machineState, spec sandbox.Spec) (*instance, error) {
	i, err := b.fork(ctx, z, state, spec)
	if err != nil {
		z.give()
		return nil, err
	}
	b.running.Go(func() {
		i.watch()
		z.give()
	})
	stop := context.AfterFunc(ctx, func() { _ = i.Close() })
	err = <-i.began
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		i.abandon()
		return nil, err
	}
	return i, nil
}

// fork asks a zygote for a run and returns once that has its first process. On
// failure nothing is left.
func (b *backend) fork(ctx context.Context, z *zygote, state *machineState, spec sandbox.Spec) (*instance, error) {
	group, err := state.newGroup()
	if err != nil {
		return nil, err
	}
	files := &fileSet{}
	i, err := newInstance(b.logger, group, files)
	if err == nil {
		err = group.limit(spec)
	}
	if err == nil {
		err = z.ask(i, state, spec, files)
	}
	files.closeAll()
	if err == nil {
		_ = i.control.SetReadDeadline(time.Now().Add(b.zygotes.patience))
		stop := context.AfterFunc(ctx, func() { _ = i.control.SetReadDeadline(time.Unix(0, 1)) })
		var handle *os.File
		if handle, err = receiveHandle(i.control); err == nil {
			i.first = forkedFirst{handle}
		}
		if !stop() && err != nil {
			err = ctx.Err()
		}
		_ = i.control.SetReadDeadline(time.Time{})
	}
	if err != nil {
		// Whoever comes to life yet finds the control socket closed, and ends.
		i.discard()
		group.remove(b.logger)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = fmt.Errorf("the zygote did not answer within %v", b.zygotes.patience)
		}
		return nil, err
	}
	return i, nil
}

// ask sends a request for a sandbox.
func (z *zygote) ask(i *instance, state *machineState, spec sandbox.Spec, files *fileSet) error {
	r := state.request(spec)
	sent := []*os.File{i.theirInput, i.theirChannel, i.theirOutput, i.theirControl}
	if state.ownDevices {
		devices, err := newDevices()
		if err != nil {
			return err
		}
		file := os.NewFile(uintptr(devices), devicesDir)
		files.add(file)
		sent = append(sent, file)
		r.Devices = true
	}
	entrances, folder, err := i.group.doors(state.user.privileged)
	if err != nil {
		return err
	}
	for _, path := range entrances {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("cgroup: %w", err)
		}
		files.add(file)
		sent = append(sent, file)
		r.Tasks++
	}
	if folder != nil {
		files.add(folder)
		sent = append(sent, folder)
		r.Group = true
	}
	return send(z.requests, r, sent)
}
