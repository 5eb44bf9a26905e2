package docker

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/seccomp"
)

// quirks are what an engine turned out not to take as Docker does. They are
// learnt from its refusals, and only then is a setting given another form, or,
// with a warning, left out.
type quirks struct {
	// noInit: it has no init program of its own (docker-init, catatonit).
	noInit bool
	// plainTmpfs: its temporary folders take a size and a mode, but no owner
	// and no number of inodes, and it makes more of them than were asked for.
	// Podman; the memory limit, which counts inodes, bounds them then.
	plainTmpfs bool
	// filter is how it takes the seccomp profile.
	filter filterForm
}

type filterForm int

const (
	filterInline filterForm = iota // as JSON, Docker's API
	filterFile                     // as a path on the engine's machine, Podman's
	filterOwn                      // not from us: the engine uses its own default
	filterNone                     // the kernel has no seccomp
)

// learn takes note of what an engine's error shows, and reports whether trying
// again makes sense.
func (q *quirks) learn(err error) bool {
	text := err.Error()
	says := func(part string) bool { return strings.Contains(text, part) }
	switch {
	case !q.noInit && (says("docker-init") || says("catatonit") || says("container-init")):
		q.noInit = true
	case !q.plainTmpfs && says("unknown mount option"):
		q.plainTmpfs = true
	case q.filter == filterInline && says("opening seccomp profile"):
		q.filter = filterFile
	case q.filter == filterFile && says("opening seccomp profile"):
		q.filter = filterOwn // on another machine, where our file is not
	case q.filter < filterNone && says("seccomp is not enabled"):
		q.filter = filterNone
	default:
		return false
	}
	return true
}

// warnings says what is weaker because of them.
func (q quirks) warnings() []string {
	var list []string
	if q.noInit {
		list = append(list, "The engine has no init program: a program's orphans stay as zombies and count against its process limit; install docker-init (tini) or catatonit.")
	}
	if q.plainTmpfs {
		list = append(list, "The engine sets no limit to the number of files in the scratch folder: the memory limit bounds them.")
	}
	switch q.filter {
	case filterInline, filterFile:
	case filterOwn:
		list = append(list, "The engine cannot read ptc-mcp's seccomp profile and uses its own, which lets more system calls through; use an engine on this machine.")
	case filterNone:
		list = append(list, "The engine's kernel has no seccomp: system calls are not filtered, and a program can open AF_VSOCK and AF_NETLINK sockets; use a kernel with seccomp, or docker.runtime: runsc.")
	}
	return list
}

// learnsFrom is quirks.learn for an engine.
func (e *engine) learnsFrom(err error, logger *slog.Logger) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.quirks.learn(err) {
		return false
	}
	logger.Warn("docker engine took a setting in another form or not at all",
		slog.String("host", e.endpoint.host), slog.Any("refusal", err), slog.Any("warnings", e.quirks.warnings()))
	return true
}

func (e *engine) knownQuirks() quirks {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.quirks
}

// securityOptions are no-new-privileges and the profile in the form the engine
// takes.
func (q quirks) securityOptions() ([]string, error) {
	list := []string{"no-new-privileges"}
	switch q.filter {
	case filterInline:
		list = append(list, "seccomp="+seccomp.Profile())
	case filterFile:
		path, err := profileFile()
		if err != nil {
			return nil, err
		}
		list = append(list, "seccomp="+path)
	case filterOwn, filterNone:
	}
	return list, nil
}

// profileFile writes the profile for an engine that reads it from a file. It
// is in the user's cache, which a virtual machine that runs the engine mostly
// shares, under a name that its content gives.
func profileFile() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("docker: no folder for the seccomp profile: %w", err)
	}
	text := seccomp.Profile()
	path := filepath.Join(cache, "ptc-mcp", "seccomp-"+digest.FromString(text).Encoded()[:16]+".json")
	if known, err := os.ReadFile(path); err == nil && string(known) == text {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("docker: folder for the seccomp profile: %w", err)
	}
	// Written aside and renamed, so that no other process sees a part of it.
	part, err := os.CreateTemp(filepath.Dir(path), "seccomp-*.part")
	if err != nil {
		return "", fmt.Errorf("docker: write the seccomp profile: %w", err)
	}
	_, err = part.WriteString(text)
	if closing := part.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		_ = os.Remove(part.Name())
		return "", fmt.Errorf("docker: write the seccomp profile: %w", err)
	}
	return path, nil
}
