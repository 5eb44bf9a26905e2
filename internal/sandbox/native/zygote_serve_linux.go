package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Descriptors of a zygote, after its streams; zygote.py knows them.
const (
	zygoteRequestsFD = 3
	zygoteProcFD     = 4
)

// superviseZygote puts aside what roots are made of, starts a zygote in a
// sandbox like a run's, and makes the namespaces of every run that the zygote
// forks. It ends with the host.
func superviseZygote(control *os.File, plans *json.Decoder, root *rootPlan) error {
	proc, err := openProc()
	if err != nil {
		return err
	}
	store, ofRun := divide(root)
	if err := buildRoot(store); err != nil {
		return err
	}
	home, err := openNamespace(proc, "mnt")
	if err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return failedStep("make namespaces", err)
	}
	ofZygote := ofRun.clone()
	ofZygote.Devices, ofZygote.Folders = root.Devices, nil
	if err := buildRoot(ofZygote); err != nil {
		return err
	}
	var p plan
	if err := plans.Decode(&p); err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	exitWithHost(control)
	zygote, toZygote, err := startZygote(p.Argv, proc)
	if err != nil {
		return err
	}
	if err := awaitZygote(zygote, toZygote); err != nil {
		return err
	}
	if err := json.NewEncoder(control).Encode(report{Kind: reportStarted}); err != nil {
		return fmt.Errorf("report the start: %w", err)
	}
	b := &builder{root: ofRun, proc: proc, home: home, requests: root.Requests, zygote: toZygote}
	go b.serve()
	return outlive(zygote, root.Requests)
}

// divide makes two plans of one: of a store that holds what every root is made
// of, and of a root that is made from the store. A run's device nodes come with
// its request.
func divide(p *rootPlan) (store, root *rootPlan) {
	store, root = &rootPlan{}, &rootPlan{Links: p.Links, Masks: p.Masks}
	for n, l := range p.Layers {
		at := filepath.Join("/layers", strconv.Itoa(n))
		store.Binds = append(store.Binds, bind{Source: l.Source, Target: at, Dir: true, Tree: l.Tree})
		root.Layers = append(root.Layers, layer{Source: at})
	}
	for _, b := range p.Binds {
		if b.Layer == 0 {
			store.Binds = append(store.Binds, b)
			b.Source, b.Tree = b.Target, 0
		} else {
			b.Source = root.Layers[b.Layer-1].Source + strings.TrimPrefix(b.Source, p.Layers[b.Layer-1].Source)
		}
		root.Binds = append(root.Binds, b)
	}
	if p.Devices != 0 {
		root.Folders = []string{devicesDir}
	}
	return store, root
}

// clone copies a plan, since building a root uses it up.
func (p *rootPlan) clone() *rootPlan {
	c := *p
	c.Layers, c.Binds = slices.Clone(p.Layers), slices.Clone(p.Binds)
	return &c
}

// openProc opens a /proc for this process and the zygote, who keep it out of
// every root: one that shows this namespace's processes, or, where an outer
// container forbids that, the one that is there.
func openProc() (int, error) {
	if fs, err := unix.Fsopen("proc", unix.FSOPEN_CLOEXEC); err == nil {
		defer func() { _ = unix.Close(fs) }()
		if unix.FsconfigCreate(fs) == nil {
			if fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, dataAttr); err == nil {
				return fd, nil
			}
		}
	}
	fd, err := unix.Open("/proc", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, failedStep("open /proc", err)
	}
	return fd, nil
}

// openNamespace opens a namespace of the calling thread.
func openNamespace(proc int, kind string) (int, error) {
	fd, err := unix.Openat(proc, "thread-self/ns/"+kind, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, failedStep("open a namespace", err)
	}
	return fd, nil
}

// startZygote starts a zygote, which keeps this thread's capabilities.
func startZygote(argv []string, proc int) (pid, socket int, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, 0, failedStep("make a socket", err)
	}
	files := make([]uintptr, zygoteProcFD+1)
	files[0], files[1], files[2] = 0, 1, 2
	files[zygoteRequestsFD], files[zygoteProcFD] = uintptr(pair[1]), uintptr(proc)
	pid, err = syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Dir: "/", Env: []string{}, Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, 0, fmt.Errorf("start %s: %s", argv[0], err.Error())
	}
	return pid, pair[0], unix.Close(pair[1])
}

// awaitZygote waits for a zygote's first word.
func awaitZygote(pid, socket int) error {
	var word [16]byte
	n, _, _, _, err := unix.Recvmsg(socket, word[:], nil, 0)
	if err != nil {
		return failedStep("wait for the zygote", err)
	}
	if n > 0 {
		return nil
	}
	var status syscall.WaitStatus
	if _, err = syscall.Wait4(pid, &status, 0, nil); err != nil {
		return failedStep("wait for the zygote", err)
	}
	return fmt.Errorf("the zygote did not boot: exit status %d, signal %d", status.ExitStatus(), status.Signal())
}

// outlive tells the host of a zygote's end, and collects what is left of its
// runs for as long as the host wants them.
func outlive(zygote, requests int) error {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if pid == zygote {
			if err := unix.Shutdown(requests, unix.SHUT_RDWR); err != nil {
				return failedStep("end the requests", err)
			}
		}
		if errors.Is(err, syscall.ECHILD) {
			select {} // exitWithHost ends it
		}
	}
}

// A builder makes namespaces, one set ahead of need.
type builder struct {
	root     *rootPlan
	proc     int
	home     int // the mount namespace of the store
	requests int
	zygote   int
}

// builtNamespaces are those that a builder makes for a run. The others belong to
// one process each, and the run makes them.
const builtNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS

var builtKinds = []string{"mnt", "net", "ipc", "uts"}

// serve passes requests on to the zygote, each with namespaces, until there are
// no more.
func (b *builder) serve() {
	runtime.LockOSThread() // for good: the thread goes from namespace to namespace
	unshareErr := unix.Unshare(unix.CLONE_FS)
	for {
		files := &descriptors{}
		var namespaces []int
		err := unshareErr
		if err == nil {
			namespaces, err = b.build(files)
		}
		text, sent, receiveErr := receive(b.requests)
		if receiveErr != nil {
			return // the host has given this zygote up
		}
		files.add(sent...)
		if err == nil {
			err = b.pass(text, sent, namespaces, files)
		}
		if err != nil && len(sent) > requestControl {
			refuse(sent[requestControl], err)
		}
		files.closeAll()
	}
}

// build makes namespaces and the root in them, and puts this thread there.
func (b *builder) build(files *descriptors) (namespaces []int, err error) {
	if err := unix.Setns(b.home, unix.CLONE_NEWNS); err != nil {
		return nil, failedStep("go back to the store", err)
	}
	if err := unix.Unshare(builtNamespaces); err != nil {
		return nil, failedStep("make namespaces", err)
	}
	if err := buildRoot(b.root.clone()); err != nil {
		return nil, err
	}
	for _, kind := range builtKinds {
		fd, err := openNamespace(b.proc, kind)
		if err != nil {
			return nil, err
		}
		files.add(fd)
		namespaces = append(namespaces, fd)
	}
	return namespaces, nil
}

// pass completes what build has begun, and has the zygote fork.
func (b *builder) pass(text []byte, sent, namespaces []int, files *descriptors) error {
	var r request
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	if r.Devices {
		if err := unix.MoveMount(sent[requestDevices], "", unix.AT_FDCWD, devicesDir, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return failedStep("mount "+devicesDir, err)
		}
		sent = slices.Delete(slices.Clone(sent), requestDevices, requestDevices+1)
	}
	if err := mountScratch(r.Scratch); err != nil {
		return err
	}
	rules, flags, err := pathRules()
	if err != nil {
		return err
	}
	forwarded := slices.Concat(sent, namespaces)
	if rules >= 0 {
		files.add(rules)
		forwarded = append(forwarded, rules)
	}
	if err := unix.Sendmsg(b.zygote, []byte(r.lines(rules >= 0, flags)), unix.UnixRights(forwarded...), nil, unix.MSG_NOSIGNAL); err != nil {
		return failedStep("ask the zygote", err)
	}
	return nil
}

// lines is a request as the zygote reads it.
func (r *request) lines(rules bool, flags uint32) string {
	var b strings.Builder
	for _, l := range r.Limits {
		word := "limit"
		if l.RunnerOnly {
			word = "late"
		}
		if l.Shared {
			l.Value++ // the run's first process
		}
		fmt.Fprintf(&b, "%s %d %d\n", word, l.Resource, l.Value)
	}
	if len(r.CPUs) > 0 {
		fmt.Fprintf(&b, "processors %s\n", strings.Trim(fmt.Sprint(r.CPUs), "[]"))
	}
	if r.Tasks > 0 {
		fmt.Fprintf(&b, "tasks %d\n", r.Tasks)
	}
	if r.Group {
		b.WriteString("group 1\n")
	}
	if rules {
		fmt.Fprintf(&b, "rules 1\nflags %d\n", flags)
	}
	return b.String()
}

// refuse reports on a run's control socket why there is none.
func refuse(control int, err error) {
	text, jsonErr := json.Marshal(failure(err))
	if jsonErr == nil {
		_, _ = unix.Write(control, append(text, '\n')) // nobody else could be told
	}
}

// descriptors are open for one request only.
type descriptors struct{ all []int }

func (d *descriptors) add(fds ...int) { d.all = append(d.all, fds...) }

func (d *descriptors) closeAll() {
	for _, fd := range d.all {
		_ = unix.Close(fd)
	}
}
