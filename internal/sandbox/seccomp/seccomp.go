// Package seccomp owns the list of system calls that a sandboxed Python may
// make, as data: an allow list in groups, each with its reason, and the calls
// that are answered with "not implemented" so that libraries fall back.
//
// It also renders the list as the JSON profile that container engines read. It
// knows no backend and loads no filter.
package seccomp

// Condition restricts one argument of a call. The kernel reads the arguments
// it names as 32-bit numbers; filters compare 64 bits, so a set upper bit
// fails the condition and the call is refused.
type Condition struct {
	// Arg is the argument's index, from 0.
	Arg uint
	// Mask selects the bits to compare; Value is what they must equal.
	Mask, Value uint64
}

// Group is a set of calls allowed for one reason.
type Group struct {
	// Reason says what a standard-library Python needs the calls for.
	Reason string
	// Syscalls are kernel names. A name that an architecture lacks (open on
	// arm64) is skipped there.
	Syscalls []string
	// Conditions must all hold; empty means any arguments.
	Conditions []Condition
}

// Flags and constants of the kernel interface that conditions compare with.
const (
	afUnix = 1 // AF_UNIX, <linux/socket.h>

	allBits = 1<<64 - 1

	sIFMT  = 0o170000 // S_IFMT, <linux/stat.h>
	sIFIFO = 0o010000 // S_IFIFO

	// cloneNamespaces is every CLONE_NEW* flag that clone(2) takes: NEWNS,
	// NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. NEWTIME shares its
	// bit with the exit signal and exists for clone3 and unshare only.
	cloneNamespaces = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 |
		0x10000000 | 0x20000000 | 0x40000000
	// clonePidfd has clone(2) return a handle too, as pidfd_open does.
	clonePidfd = 0x00001000
)

// Allowed is the allow list. What is in no group is refused with EPERM: see
// Withheld for what that stops.
func Allowed() []Group {
	return []Group{
		{
			Reason: "open, read, write and list files in the scratch folder and the interpreter's library",
			Syscalls: []string{
				"access", "chdir", "close", "close_range", "copy_file_range", "creat",
				"dup", "dup2", "dup3", "faccessat", "faccessat2", "fadvise64", "fallocate",
				"fchdir", "fcntl", "fdatasync", "flock", "fstat", "fsync", "ftruncate",
				"getcwd", "getdents", "getdents64", "ioctl", "lseek", "lstat", "newfstatat",
				"open", "openat", "openat2", "pread64", "preadv", "preadv2", "pwrite64",
				"pwritev", "pwritev2", "read", "readlink", "readlinkat", "readv", "sendfile",
				"stat", "statx", "truncate", "umask", "write", "writev",
			},
		},
		{
			Reason: "shutil.disk_usage and os.statvfs; runc checks /proc with them after the filter is loaded",
			Syscalls: []string{
				"fstatfs", "statfs",
			},
		},
		{
			Reason: "make, rename, link and remove files, set their times and permissions",
			Syscalls: []string{
				"chmod", "chown", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchownat",
				"futimesat", "lchown", "link", "linkat", "mkdir", "mkdirat", "rename",
				"renameat", "renameat2", "rmdir", "symlink", "symlinkat", "unlink",
				"unlinkat", "utime", "utimensat", "utimes",
			},
		},
		{
			Reason: "shutil.copystat asks for extended attributes and fails on any refusal",
			Syscalls: []string{
				"fgetxattr", "flistxattr", "getxattr", "lgetxattr", "listxattr", "llistxattr",
			},
		},
		{
			Reason:     "os.mkfifo; no device nodes",
			Syscalls:   []string{"mknod"},
			Conditions: []Condition{{Arg: 1, Mask: sIFMT, Value: sIFIFO}},
		},
		{
			Reason:     "os.mkfifo relative to a folder; no device nodes",
			Syscalls:   []string{"mknodat"},
			Conditions: []Condition{{Arg: 2, Mask: sIFMT, Value: sIFIFO}},
		},
		{
			Reason: "wait for many descriptors at once: select, asyncio, subprocess; those that supervisors had before the filter",
			Syscalls: []string{
				"epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "poll", "ppoll",
				"pselect6", "select",
			},
		},
		{
			Reason: "pipes, and files that have no name (os.memfd_create)",
			Syscalls: []string{
				"memfd_create", "pipe", "pipe2",
			},
		},
		{
			Reason:     "local sockets only: asyncio wakes itself through a socket pair, multiprocessing listens on one",
			Syscalls:   []string{"socket", "socketpair"},
			Conditions: []Condition{{Arg: 0, Mask: allBits, Value: afUnix}},
		},
		{
			Reason: "use of the local sockets made so",
			Syscalls: []string{
				"accept", "accept4", "bind", "connect", "getpeername", "getsockname",
				"getsockopt", "listen", "recvfrom", "recvmmsg", "recvmsg", "sendmmsg",
				"sendmsg", "sendto", "setsockopt", "shutdown",
			},
		},
		{
			Reason: "memory of the interpreter, mmap, shared memory",
			Syscalls: []string{
				"brk", "madvise", "mincore", "mlock", "mmap", "mprotect", "mremap", "msync",
				"munlock", "munmap",
			},
		},
		{
			Reason: "threads and locks",
			Syscalls: []string{
				"arch_prctl", "futex", "futex_requeue", "futex_wait", "futex_waitv",
				"futex_wake", "get_robust_list", "membarrier", "rseq", "set_robust_list",
				"set_tid_address",
			},
		},
		{
			Reason:     "start threads and processes, in the namespaces they are in and without a handle",
			Syscalls:   []string{"clone"},
			Conditions: []Condition{{Arg: 0, Mask: cloneNamespaces | clonePidfd, Value: 0}},
		},
		{
			Reason: "subprocess and multiprocessing: run, wait for and signal children",
			Syscalls: []string{
				"execve", "execveat", "exit", "exit_group", "fork", "getpgid", "getpgrp",
				"getpid", "getppid", "getsid", "gettid", "kill",
				"pidfd_send_signal", "setpgid", "setsid", "tgkill", "tkill", "vfork",
				"wait4", "waitid",
			},
		},
		{
			Reason: "name threads, die with the parent, drop rights; raising any needs a capability that is not there",
			Syscalls: []string{
				"capget", "prctl",
			},
		},
		{
			Reason: "who and where am I: ids, limits, usage, scheduling of the own processes",
			Syscalls: []string{
				"getcpu", "getegid", "geteuid", "getgid", "getgroups", "getpriority",
				"getresgid", "getresuid", "getrlimit", "getrusage", "getuid", "prlimit64",
				"sched_get_priority_max", "sched_get_priority_min", "sched_getaffinity",
				"sched_getattr", "sched_getparam", "sched_getscheduler",
				"sched_rr_get_interval", "sched_setaffinity", "sched_yield", "setpriority",
				"setrlimit", "sysinfo", "times", "uname",
			},
		},
		{
			Reason: "handle signals",
			Syscalls: []string{
				"alarm", "getitimer", "pause", "restart_syscall", "rt_sigaction",
				"rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn",
				"rt_sigsuspend", "rt_sigtimedwait", "rt_tgsigqueueinfo", "setitimer",
				"sigaltstack",
			},
		},
		{
			Reason: "read clocks and sleep; setting a clock is not in the list",
			Syscalls: []string{
				"clock_getres", "clock_gettime", "clock_nanosleep", "gettimeofday",
				"nanosleep", "time",
			},
		},
		{
			Reason:   "random numbers",
			Syscalls: []string{"getrandom"},
		},
	}
}

// NotImplemented lists the calls answered with ENOSYS, as an old kernel would:
// the C library then falls back to an older call that a filter can judge.
func NotImplemented() []Group {
	return []Group{
		{
			Reason:   "clone3 has its flags in memory, where no filter can see a request for new namespaces; clone has them in a register",
			Syscalls: []string{"clone3"},
		},
	}
}

// Withheld names calls that are kept out on purpose, with the attack that each
// group would serve. Nothing reads it to build a filter (what is not allowed is
// refused); tests hold the allow list against it.
func Withheld() []Group {
	return []Group{
		{
			Reason: "io_uring does input and output, sockets included, past this filter, and has a long record of kernel faults",
			Syscalls: []string{
				"io_uring_setup", "io_uring_enter", "io_uring_register",
			},
		},
		{
			Reason: "reading or writing another process: a child could take over the runner",
			Syscalls: []string{
				"kcmp", "pidfd_getfd", "process_madvise", "process_vm_readv",
				"process_vm_writev", "ptrace",
			},
		},
		{
			Reason: "kernel keyrings are shared by all processes of a user id, other sandboxes' included",
			Syscalls: []string{
				"add_key", "keyctl", "request_key",
			},
		},
		{
			Reason: "what these make is one file to the kernel's locks, for all sandboxes and the host (pidfds before Linux 6.9): locks on it are signals; Python uses poll and threads instead",
			Syscalls: []string{
				"epoll_create", "epoll_create1", "eventfd", "eventfd2", "inotify_init",
				"inotify_init1", "landlock_create_ruleset", "pidfd_open", "signalfd",
				"signalfd4", "timerfd_create",
			},
		},
		{
			Reason: "programs in the kernel, and its performance counters",
			Syscalls: []string{
				"bpf", "perf_event_open",
			},
		},
		{
			Reason:   "stopping the kernel in the middle of a copy, which makes its races easy to win",
			Syscalls: []string{"userfaultfd"},
		},
		{
			Reason: "new namespaces give root-only kernel code to everybody",
			Syscalls: []string{
				"setns", "unshare",
			},
		},
		{
			Reason: "changing what is mounted where",
			Syscalls: []string{
				"chroot", "fsconfig", "fsmount", "fsopen", "fspick", "mount",
				"mount_setattr", "move_mount", "open_tree", "pivot_root", "swapoff",
				"swapon", "umount2",
			},
		},
		{
			Reason:   "opening files by handle goes round the root folder",
			Syscalls: []string{"name_to_handle_at", "open_by_handle_at"},
		},
		{
			Reason: "moving pages between pipes, files and programs without a copy: repeated holes, no use in the standard library that falls back to nothing",
			Syscalls: []string{
				"splice", "tee", "vmsplice",
			},
		},
		{
			Reason: "the machine itself: modules, reboot, clocks, log, accounting, swap of whole disks to rest",
			Syscalls: []string{
				"acct", "adjtimex", "clock_adjtime", "clock_settime", "delete_module",
				"finit_module", "init_module", "ioperm", "iopl", "kexec_file_load",
				"kexec_load", "quotactl", "reboot", "setdomainname", "sethostname",
				"settimeofday", "sync", "syslog", "vhangup",
			},
		},
		{
			Reason: "memory that counts for nobody or is spread by hand",
			Syscalls: []string{
				"mbind", "memfd_secret", "migrate_pages", "move_pages", "msgget",
				"remap_file_pages", "semget", "set_mempolicy", "shmget",
			},
		},
		{
			Reason:   "watching whole file systems, old asynchronous input and output, and personalities that weaken address layout",
			Syscalls: []string{"fanotify_init", "io_setup", "io_submit", "personality"},
		},
	}
}
