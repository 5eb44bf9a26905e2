package native

import (
	"fmt"
	"runtime/pprof"
	"strconv"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// setupCapabilities are what the supervisor keeps across its exec to build the
// root. They count in the sandbox's user namespace only, and confine drops
// them.
var setupCapabilities = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}

// confine gives up every right that building the root needed, for the
// supervisor and for what it starts: processors, capabilities, Landlock, filter.
func confine(p *plan) error {
	if err := pin(p.CPUs); err != nil {
		return err
	}
	if err := dropBoundingSet(); err != nil {
		return err
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

// restrictPaths lets Landlock, where the kernel has it, say once more what the
// mounts say: read everywhere, write to the scratch folder only. Landlock also
// closes TCP and abstract sockets of others. It sets no_new_privs.
func restrictPaths() error {
	err := landlock.V11.BestEffort().Restrict(
		landlock.RODirs("/"),
		landlock.RWDirs(scratchDir).WithRefer(),
		landlock.RWFiles("/dev/null", "/dev/zero"),
	)
	if err != nil {
		return failedStep("restrict paths by Landlock", err)
	}
	return nil
}

// dropCapabilities empties every set of every thread.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return failedStep("drop ambient capabilities", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	_, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0)
	if errno != 0 {
		return failedStep("drop capabilities", errno)
	}
	return nil
}

// enclose puts a process that was just started into its cgroups.
func enclose(pid int, doors []int) error {
	for _, door := range doors {
		_, err := unix.Write(door, strconv.AppendInt(nil, int64(pid), 10))
		if err != nil && err != unix.ESRCH { // it may have ended already
			return failedStep("enter the cgroup", err)
		}
		if err := unix.Close(door); err != nil {
			return failedStep("leave the cgroup's door", err)
		}
	}
	return nil
}

// bound sets the limits of a process that was just started. The supervisor's
// own stay as they are: a full sandbox must not keep it from reaping.
func bound(pid int, limits []limit) error {
	for _, l := range limits {
		if l.Shared {
			// The profile counts every thread made so far; an idle supervisor
			// makes no more.
			l.Value += uint64(pprof.Lookup("threadcreate").Count())
		}
		if err := unix.Prlimit(pid, l.Resource, &unix.Rlimit{Cur: l.Value, Max: l.Value}, nil); err != nil {
			return failedStep(fmt.Sprintf("set resource limit %d", l.Resource), err)
		}
	}
	return nil
}
