package native

import (
	"fmt"
	"runtime/pprof"
	"syscall"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

// setupCapabilities are what the supervisor keeps across its exec to build the
// root. They count in the sandbox's user namespace only, and confine drops
// them.
var setupCapabilities = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}

// zygoteCapabilities are what a zygote and its supervisor have beside: to enter
// mount namespaces, which count in the same namespace only.
var zygoteCapabilities = []uintptr{unix.CAP_SYS_CHROOT}

// confine gives up every right that building the root needed, for the
// supervisor and for what it starts: limits, processors, capabilities, Landlock,
// filter.
func confine(p *plan) error {
	if err := bound(0, p.Limits); err != nil {
		return err
	}
	if err := pin(p.CPUs); err != nil {
		return err
	}
	if err := dropBoundingSet(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return failedStep("set no_new_privs", err)
	}
	if err := restrictPaths(); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	return loadFilter(p.Filter.unpack())
}

// pin keeps the sandbox on some processors where no cgroup bounds its share.
func pin(cpus []int) error {
	if len(cpus) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return failedStep("choose processors", err)
	}
	return nil
}

// dropBoundingSet makes sure that no exec can ever give a capability back.
func dropBoundingSet() error {
	for capability := uintptr(0); ; capability++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		if err == unix.EINVAL && capability > 0 {
			return nil // past the last one this kernel knows
		}
		if err != nil {
			return failedStep("drop the bounding set", err)
		}
	}
}

// restrictPaths puts the rules of pathRules on this thread and its child.
func restrictPaths() error {
	rules, flags, err := pathRules()
	if err != nil || rules < 0 {
		return err
	}
	defer func() { _ = unix.Close(rules) }()
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules), uintptr(flags), 0); errno != 0 {
		return failedStep("restrict paths by Landlock", errno)
	}
	return nil
}

// pathRules lets Landlock, where the kernel has it, say once more what the
// mounts say: read everywhere, write to the scratch folder only. Landlock also
// closes TCP, and the signals and abstract sockets of processes outside. It
// returns -1 where the kernel has none.
//
// The library's own way of reaching all threads needs /proc in programs built
// with cgo; so the rules are put on single threads.
func pathRules() (rules int, flags uint32, err error) {
	rules, flags, err = landlock.V11.BestEffort().NewRulesetFD(
		landlock.RODirs("/"),
		landlock.RWDirs(scratchDir).WithRefer(),
		landlock.RWFiles("/dev/null", "/dev/zero"),
	)
	if err != nil {
		return -1, 0, failedStep("make Landlock rules", err)
	}
	return rules, flags, nil
}

// dropCapabilities empties every set: of every thread where the Go runtime
// knows them all; in programs built with cgo it does not, and the other threads
// are bound by the filter alone.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return failedStep("drop ambient capabilities", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0)
	if errno == syscall.ENOTSUP {
		if err := unix.Capset(&header, &none[0]); err != nil {
			return failedStep("drop capabilities", err)
		}
		return nil
	}
	if errno != 0 {
		return failedStep("drop capabilities", errno)
	}
	return nil
}

// bound sets limits of this process, for what it starts to inherit; or, with
// the pid of the runner, those that only that can bear.
func bound(pid int, limits []limit) error {
	for _, l := range limits {
		if l.RunnerOnly != (pid != 0) {
			continue
		}
		if l.Shared {
			// The profile counts every thread made so far; from here on, a
			// supervisor that only waits makes no more.
			l.Value += uint64(pprof.Lookup("threadcreate").Count())
		}
		value := unix.Rlimit{Cur: l.Value, Max: l.Value}
		if l.Resource == unix.RLIMIT_NOFILE {
			// By this the Go runtime learns not to restore its own limit in a
			// child.
			if err := syscall.Setrlimit(l.Resource, (*syscall.Rlimit)(&value)); err != nil {
				return failedStep("limit open files", err)
			}
			continue
		}
		if err := unix.Prlimit(pid, l.Resource, &value, nil); err != nil {
			return failedStep(fmt.Sprintf("set resource limit %d", l.Resource), err)
		}
	}
	return nil
}
