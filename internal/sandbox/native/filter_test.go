//go:build linux

package native

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/seccomp"
)

// judge runs a filter on one call, as the kernel would.
func judge(t *testing.T, filter []unix.SockFilter, archID, number uint32, arguments ...uint64) uint32 {
	t.Helper()
	var program []bpf.Instruction
	for _, f := range filter {
		program = append(program, bpf.RawInstruction{Op: f.Code, Jt: f.Jt, Jf: f.Jf, K: f.K}.Disassemble())
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	// The machine reads words in network order; the low word comes first.
	data := binary.BigEndian.AppendUint32(nil, number)
	data = binary.BigEndian.AppendUint32(data, archID)
	data = append(data, make([]byte, 8)...)
	for n := range 6 {
		var value uint64
		if n < len(arguments) {
			value = arguments[n]
		}
		data = binary.BigEndian.AppendUint32(data, uint32(value))
		data = binary.BigEndian.AppendUint32(data, uint32(value>>32))
	}
	got, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(got)
}

const (
	allowed        = uint32(unix.SECCOMP_RET_ALLOW)
	notImplemented = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

var architectures = map[string]*arch.Info{"amd64": arch.X86_64, "arm64": arch.AARCH64}

func TestTheFilterJudgesEveryCallByItsOwnRule(t *testing.T) {
	for goarch, info := range architectures {
		filter, err := compileFilter(goarch)
		if err != nil {
			t.Fatal(err)
		}
		conditional := map[string]bool{}
		unconditional := map[string]bool{}
		for _, group := range seccomp.Allowed() {
			for _, name := range group.Syscalls {
				conditional[name] = len(group.Conditions) > 0
				unconditional[name] = len(group.Conditions) == 0
			}
		}
		// Arguments that are the numbers of allowed calls must not matter.
		for name, number := range info.SyscallNames {
			for _, argument := range []uint64{0, 1, 2, 10, 16, 56, 220, 1 << 40} {
				got := judge(t, filter, uint32(info.ID), uint32(number), argument, argument)
				switch {
				case name == "fstatat":
					// newfstatat, on arm64
					if got != allowed {
						t.Errorf("%s: %s gives %#x", goarch, name, got)
					}
				case name == "clone3":
					if got != notImplemented {
						t.Errorf("%s: clone3 gives %#x", goarch, got)
					}
				case conditional[name]:
				case unconditional[name] && got != allowed:
					t.Errorf("%s: %s is refused", goarch, name)
				case !unconditional[name] && got != refusal:
					t.Errorf("%s: %s(%d) gives %#x", goarch, name, argument, got)
				}
			}
		}
	}
}

// TestNoAllowedCallIsMissed holds that a call that is allowed, and is not in the
// table of an architecture, is one that this does not have: only old calls,
// that newer ones took the place of, are such.
func TestNoAllowedCallIsMissed(t *testing.T) {
	superseded := map[string][]string{"amd64": {}, "arm64": {
		"access", "alarm", "arch_prctl", "chmod", "chown", "creat", "dup2",
		"epoll_create", "epoll_wait", "eventfd", "fork", "futimesat", "getdents",
		"getpgrp", "lchown", "link", "lstat", "mkdir", "mknod", "open", "pause",
		"pipe", "poll", "readlink", "rename", "rmdir", "select", "signalfd", "stat",
		"symlink", "time", "unlink", "utime", "utimes", "vfork",
	}}
	for goarch, info := range architectures {
		for _, group := range seccomp.Allowed() {
			for _, name := range group.Syscalls {
				if _, ok := numberOf(info, name); !ok && !slices.Contains(superseded[goarch], name) {
					t.Errorf("%s: %s has no number", goarch, name)
				}
			}
		}
	}
	// Of <asm/unistd.h>.
	for goarch, numbers := range map[string]map[string]int{
		"amd64": {"newfstatat": 262, "openat": 257, "read": 0, "futex": 202, "mmap": 9},
		"arm64": {"newfstatat": 79, "openat": 56, "read": 63, "futex": 98, "mmap": 222},
	} {
		for name, want := range numbers {
			if number, ok := numberOf(architectures[goarch], name); !ok || number != want {
				t.Errorf("%s: %s is %d (%v), want %d", goarch, name, number, ok, want)
			}
		}
	}
}

func TestTheFilterLooksAtArguments(t *testing.T) {
	for goarch, info := range architectures {
		filter, err := compileFilter(goarch)
		if err != nil {
			t.Fatal(err)
		}
		for family := range uint64(64) {
			want := refusal
			if family == unix.AF_UNIX {
				want = allowed
			}
			if got := judge(t, filter, uint32(info.ID), uint32(info.SyscallNames["socket"]), family, 1); got != want {
				t.Errorf("%s: socket of family %d gives %#x", goarch, family, got)
			}
		}
		for _, c := range []struct {
			name      string
			arguments []uint64
			want      uint32
		}{
			{"socket", []uint64{unix.AF_UNIX | 1<<32}, refusal},
			{"socketpair", []uint64{unix.AF_UNIX}, allowed},
			{"socketpair", []uint64{unix.AF_INET}, refusal},
			{"clone", []uint64{unix.CLONE_VM | unix.CLONE_VFORK | uint64(unix.SIGCHLD)}, allowed},
			{"clone", []uint64{unix.CLONE_NEWUSER}, refusal},
			{"clone", []uint64{unix.CLONE_NEWNET | unix.CLONE_VM}, refusal},
			{"mknodat", []uint64{0, 0, unix.S_IFIFO | 0o600}, allowed},
			{"mknodat", []uint64{0, 0, unix.S_IFCHR | 0o600}, refusal},
			{"mknodat", []uint64{0, 0, unix.S_IFBLK | 0o600}, refusal},
			{"mknodat", []uint64{0, 0, unix.S_IFSOCK | 0o600}, refusal},
		} {
			if got := judge(t, filter, uint32(info.ID), uint32(info.SyscallNames[c.name]), c.arguments...); got != c.want {
				t.Errorf("%s: %s%x gives %#x, want %#x", goarch, c.name, c.arguments, got, c.want)
			}
		}
	}
}

func TestTheFilterKnowsOneArchitectureOnly(t *testing.T) {
	filter, err := compileFilter("amd64")
	if err != nil {
		t.Fatal(err)
	}
	if got := judge(t, filter, uint32(arch.I386.ID), 1); got != unix.SECCOMP_RET_KILL_PROCESS {
		t.Errorf("a 32-bit call gives %#x", got)
	}
	if got := judge(t, filter, uint32(arch.X86_64.ID), x32Bit|1); got != notImplemented {
		t.Errorf("an x32 call gives %#x", got)
	}
}

func TestTheFilterLeavesOutWhatIsRefused(t *testing.T) {
	filter, err := compileFilter("amd64", "memfd_create")
	if err != nil {
		t.Fatal(err)
	}
	if got := judge(t, filter, uint32(arch.X86_64.ID), uint32(arch.X86_64.SyscallNames["memfd_create"])); got != refusal {
		t.Errorf("memfd_create gives %#x", got)
	}
}

func TestAFilterSurvivesThePlan(t *testing.T) {
	filter, err := compileFilter("arm64")
	if err != nil {
		t.Fatal(err)
	}
	back := pack(filter).unpack()
	if len(back) != len(filter) {
		t.Fatalf("%d of %d instructions came back", len(back), len(filter))
	}
	for n := range filter {
		if back[n] != filter[n] {
			t.Errorf("instruction %d: %+v became %+v", n, filter[n], back[n])
		}
	}
}
