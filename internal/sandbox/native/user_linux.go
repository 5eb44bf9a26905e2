package native

import (
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A user is who a sandbox runs as. Inside it is always nobody, alone in its
// user namespace; outside it is nobody too if this process may change to that,
// else this process's own user.
type user struct {
	privileged bool // true: nobody outside too
	uid, gid   int  // outside
}

// sandboxUser decides by the rights of this process.
func sandboxUser() user {
	if os.Geteuid() == 0 && capable(unix.CAP_SYS_ADMIN, unix.CAP_SETUID, unix.CAP_SETGID) &&
		maps("/proc/self/uid_map", nobody) && maps("/proc/self/gid_map", nobody) {
		return user{privileged: true, uid: nobody, gid: nobody}
	}
	return user{uid: os.Geteuid(), gid: os.Getegid()}
}

// attributes are those of a supervisor: every namespace new.
func (u user) attributes() *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
			unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
		UidMappings:                []syscall.SysProcIDMap{{ContainerID: nobody, HostID: u.uid, Size: 1}},
		GidMappings:                []syscall.SysProcIDMap{{ContainerID: nobody, HostID: u.gid, Size: 1}},
		GidMappingsEnableSetgroups: u.privileged,
		AmbientCaps:                setupCapabilities,
		Pdeathsig:                  syscall.SIGKILL,
		Setsid:                     true, // no terminal, and no Ctrl-C meant for the host
	}
	if u.privileged {
		attributes.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	return attributes
}

// capable says whether this process has all of some capabilities in effect.
func capable(capabilities ...int) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	for _, c := range capabilities {
		if data[c/32].Effective&(1<<(c%32)) == 0 {
			return false
		}
	}
	return true
}

// maps says whether an id exists in this process's user namespace.
func maps(file string, id int) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		first, err1 := strconv.Atoi(fields[0])
		count, err2 := strconv.Atoi(fields[2])
		if err1 == nil && err2 == nil && first <= id && id-first < count {
			return true
		}
	}
	return false
}
