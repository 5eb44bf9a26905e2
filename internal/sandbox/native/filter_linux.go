package native

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/seccomp"
)

// Offsets in struct seccomp_data, <linux/seccomp.h>, on little-endian machines.
const (
	numberOffset   = 0
	archOffset     = 4
	argumentOffset = 16
)

// x32Bit marks calls of the x32 interface of amd64, which have numbers of
// their own.
const x32Bit = 0x40000000

// compileFilter makes the system call filter for one architecture (as GOARCH
// spells it) out of the shared allow list. refused names calls to leave out.
//
// go-seccomp-bpf, whose table of calls this uses, also has an assembler. It is
// not used: when the condition on an argument fails, it goes on to compare the
// argument, as if that were the call's number, with the calls that follow.
// Here every call has its own verdict, and the number is loaded once.
func compileFilter(goarch string, refused ...string) ([]unix.SockFilter, error) {
	info, err := arch.GetInfo(goarch)
	if err != nil {
		return nil, fmt.Errorf("system call filter: %w", err)
	}
	filter := []unix.SockFilter{
		load(archOffset),
		jump(unix.BPF_JEQ, uint32(info.ID), 1, 0),
		verdict(unix.SECCOMP_RET_KILL_PROCESS),
		load(numberOffset),
	}
	if info.ID == arch.X86_64.ID {
		filter = append(filter,
			jump(unix.BPF_JGE, x32Bit, 0, 1),
			verdict(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS)))
	}
	decided := map[string]bool{}
	add := func(group seccomp.Group, allowed uint32) error {
		for _, name := range group.Syscalls {
			number, ok := numberOf(info, name)
			if !ok || slices.Contains(refused, name) {
				continue
			}
			if decided[name] {
				return fmt.Errorf("system call filter: %s is in two groups", name)
			}
			decided[name] = true
			filter = append(filter, rule(uint32(number), group.Conditions, allowed)...)
		}
		return nil
	}
	for _, group := range seccomp.NotImplemented() {
		if err := add(group, unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS)); err != nil {
			return nil, err
		}
	}
	for _, group := range seccomp.Allowed() {
		if err := add(group, unix.SECCOMP_RET_ALLOW); err != nil {
			return nil, err
		}
	}
	return append(filter, verdict(refusal)), nil
}

// numberOf looks up a call; false means that the architecture has none of that
// name. For arm64, go-seccomp-bpf's table calls newfstatat as the C library
// calls its function; without it Python cannot look at any file.
func numberOf(info *arch.Info, name string) (number int, ok bool) {
	number, ok = info.SyscallNames[name]
	if !ok && name == "newfstatat" {
		number, ok = info.SyscallNames["fstatat"]
	}
	return number, ok
}

// refusal is the verdict on all that is not allowed.
const refusal = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)

// rule decides on one call, whose number is loaded, and leaves the number
// loaded if the call is another.
func rule(number uint32, conditions []seccomp.Condition, allowed uint32) []unix.SockFilter {
	var body []unix.SockFilter
	for _, c := range conditions {
		offset := argumentOffset + 8*uint32(c.Arg)
		body = append(body, check(offset, uint32(c.Mask), uint32(c.Value))...)
		body = append(body, check(offset+4, uint32(c.Mask>>32), uint32(c.Value>>32))...)
	}
	body = append(body, verdict(allowed))
	return append([]unix.SockFilter{jump(unix.BPF_JEQ, number, 0, uint8(len(body)))}, body...)
}

// check refuses the call unless a word, masked, has a value.
func check(offset, mask, value uint32) []unix.SockFilter {
	if mask == 0 {
		return nil
	}
	return []unix.SockFilter{
		load(offset),
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: mask},
		jump(unix.BPF_JEQ, value, 1, 0),
		verdict(refusal),
	}
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func jump(comparison uint16, value uint32, ifTrue, ifFalse uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | comparison | unix.BPF_K, K: value, Jt: ifTrue, Jf: ifFalse}
}

func verdict(value uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value}
}

// loadFilter puts a filter on all threads of this process, for good. The
// calling thread has no_new_privs; the others get it.
func loadFilter(filter []unix.SockFilter) error {
	if len(filter) == 0 {
		return errors.New("the plan holds no system call filter")
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	switch {
	case errno != 0:
		return failedStep("load the system call filter", errno)
	case thread != 0:
		return fmt.Errorf("load the system call filter: thread %d has another one", thread)
	}
	return nil
}

// A packedFilter is a filter as it travels in a plan: struct sock_filter, one
// after another.
type packedFilter []byte

const instructionBytes = 8

func pack(filter []unix.SockFilter) packedFilter {
	var packed packedFilter
	for _, instruction := range filter {
		packed = binary.NativeEndian.AppendUint16(packed, instruction.Code)
		packed = append(packed, instruction.Jt, instruction.Jf)
		packed = binary.NativeEndian.AppendUint32(packed, instruction.K)
	}
	return packed
}

func (p packedFilter) unpack() []unix.SockFilter {
	var filter []unix.SockFilter
	for chunk := range slices.Chunk(p, instructionBytes) {
		filter = append(filter, unix.SockFilter{
			Code: binary.NativeEndian.Uint16(chunk),
			Jt:   chunk[2], Jf: chunk[3],
			K: binary.NativeEndian.Uint32(chunk[4:]),
		})
	}
	return filter
}
