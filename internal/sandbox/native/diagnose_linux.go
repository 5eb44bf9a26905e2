package native

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// A closedSwitch is a setting that keeps a user from making namespaces.
type closedSwitch struct {
	file   string // below the root folder
	closed string // its text when it does
	// rootToo is false where the setting does not bind root.
	rootToo bool
	text    string
}

// closedSwitches in the order in which they are worth naming.
var closedSwitches = []closedSwitch{
	{"proc/sys/user/max_user_namespaces", "0", true,
		"user namespaces are switched off (user.max_user_namespaces = 0): as root, run `sysctl -w user.max_user_namespaces=15000`"},
	{"proc/sys/kernel/unprivileged_userns_clone", "0", false,
		"ordinary users may not make user namespaces (kernel.unprivileged_userns_clone = 0): as root, run `sysctl -w kernel.unprivileged_userns_clone=1`"},
	{"proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", false,
		"AppArmor keeps ordinary users from using user namespaces (kernel.apparmor_restrict_unprivileged_userns = 1): as root, give ptc-mcp an AppArmor profile that contains `userns,`, or run `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`"},
}

// errForbidden is wrapped by errors that mean that this machine lets no sandbox
// be made, with whatever interpreter.
var errForbidden = errors.New("no sandbox can be made here")

// explain turns a refusal of the kernel into an error that names the switch
// that is closed and the way out. root is the root folder, for reading
// settings.
func explain(root fs.FS, isRoot bool, err error) error {
	reason, remedy := diagnosis(root, isRoot, err)
	if reason == "" {
		return fmt.Errorf("%w: native: %w", sandbox.ErrUnavailable, err)
	}
	return &forbidden{text: fmt.Sprintf("%s: native: %s%s (%s)", sandbox.ErrUnavailable, reason, remedy, err), err: err}
}

// forbidden reads as its text and unwraps to all that callers ask for.
type forbidden struct {
	text string
	err  error
}

func (e *forbidden) Error() string   { return e.text }
func (e *forbidden) Unwrap() []error { return []error{sandbox.ErrUnavailable, errForbidden, e.err} }

func diagnosis(root fs.FS, isRoot bool, err error) (reason, remedy string) {
	switch {
	case errors.Is(err, syscall.ENOSYS):
		return "this kernel lacks a call that the sandbox needs", fmt.Sprintf(": Linux %d.%d or newer is needed; or use docker", minKernel[0], minKernel[1])
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EUSERS):
	default:
		return "", ""
	}
	for _, s := range closedSwitches {
		if isRoot && !s.rootToo {
			continue
		}
		if text, readErr := fs.ReadFile(root, s.file); readErr == nil && strings.TrimSpace(string(text)) == s.closed {
			return s.text, ""
		}
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EUSERS) {
		return "the limit of namespaces is reached", ": as root, raise the user.max_*_namespaces settings, or close other sandboxes"
	}
	if filtered(root) {
		return "a system call filter around this process forbids namespaces", ": an outer container has it; start that with `--security-opt seccomp=unconfined`, or give ptc-mcp the docker backend"
	}
	return "namespaces are forbidden here", ": an outer container, a chroot or a security module does it; use docker"
}

// minKernel is the oldest kernel that has all that is used: the calls to build
// mounts without a path (5.12), and a process limit that counts per user
// namespace (5.14).
var minKernel = [2]int{5, 14}

// checkKernel refuses kernels that are too old. release is what uname says.
func checkKernel(release string) error {
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		return fmt.Errorf("%w: native: kernel release %q cannot be read: %w", sandbox.ErrUnavailable, release, err)
	}
	if major < minKernel[0] || major == minKernel[0] && minor < minKernel[1] {
		return fmt.Errorf("%w: native: this is Linux %s, and %d.%d or newer is needed: use docker",
			sandbox.ErrUnavailable, release, minKernel[0], minKernel[1])
	}
	return nil
}

// kernelRelease is what uname -r prints.
func kernelRelease() (string, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "", fmt.Errorf("%w: native: uname: %w", sandbox.ErrUnavailable, err)
	}
	return unix.ByteSliceToString(name.Release[:]), nil
}

// filtered says whether this process runs under a seccomp filter.
func filtered(root fs.FS) bool {
	text, err := fs.ReadFile(root, "proc/self/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if key, value, _ := strings.Cut(line, ":"); key == "Seccomp" {
			return strings.TrimSpace(value) == "2"
		}
	}
	return false
}
