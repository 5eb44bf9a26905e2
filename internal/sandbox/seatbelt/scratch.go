//go:build unix

package seatbelt

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// folderPrefix begins the name of every folder of this backend in the folder
// for temporary files: ptc-mcp-seatbelt-<owner>-<random>, the owner being the
// process of ptc-mcp that made it.
const folderPrefix = "ptc-mcp-seatbelt-"

// A folder belongs to one sandbox and is open to this user only.
type folder struct{ path string }

// identity names a process for good: numbers are used again, a number with its
// start is not.
type identity struct {
	pid     int
	started string
}

func identify(pid int) (identity, bool) {
	started, known := processStarted(pid)
	return identity{pid, started}, known && started != ""
}

func (id identity) String() string { return fmt.Sprintf("%d_%s", id.pid, id.started) }

func parseIdentity(text string) (identity, bool) {
	number, started, _ := strings.Cut(text, "_")
	pid, err := strconv.Atoi(number)
	return identity{pid, started}, err == nil && pid > 1 && started != ""
}

// gone tells whether the process has ended for certain.
func (id identity) gone() bool {
	started, known := processStarted(id.pid)
	return known && started != id.started
}

// newFolder makes a folder with a scratch folder in it.
func newFolder() (folder, error) {
	owner, _ := identify(os.Getpid()) // without a start, it is never swept
	made, err := os.MkdirTemp("", folderPrefix+owner.String()+"-")
	if err != nil {
		return folder{}, err
	}
	resolved, err := filepath.EvalSymlinks(made) // the profile needs it so
	if err == nil {
		err = os.Mkdir(folder{resolved}.scratch(), 0o700)
	}
	if err != nil {
		return folder{}, errors.Join(err, os.RemoveAll(made))
	}
	return folder{resolved}, nil
}

// scratch is the folder that the program sees, and all it sees of this one.
func (f folder) scratch() string { return filepath.Join(f.path, "scratch") }

// note keeps for a later sweep which process works in the folder.
func (f folder) note(pid int) error {
	id, _ := identify(pid) // it may have ended already
	return os.WriteFile(filepath.Join(f.path, "process"), []byte(id.String()), 0o600)
}

// remove removes the folder, whatever the program did to its modes and flags.
// Nothing may work in it any more.
func (f folder) remove() error {
	if err := os.RemoveAll(f.path); err == nil {
		return nil
	}
	// The walk follows no links, and what it cannot do RemoveAll will tell.
	_ = filepath.WalkDir(f.path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return nil //nolint:nilerr // the rest may still be mended
		}
		if info, err := entry.Info(); err == nil {
			unlock(path, info)
		}
		if entry.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a folder has to be entered to be emptied
		}
		return nil
	})
	return os.RemoveAll(f.path)
}

// sweep removes what processes of ptc-mcp left that have died without cleaning
// up: their sandboxes, and the folders of these.
func sweep(logger *slog.Logger) {
	found, _ := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*")) // fails on a bad pattern only
	for _, path := range found {
		name := strings.TrimPrefix(filepath.Base(path), folderPrefix)
		owner, ok := parseIdentity(name[:max(0, strings.LastIndexByte(name, '-'))])
		if !ok || !ours(path) || !owner.gone() {
			continue
		}
		left := folder{path}
		left.killProcess()
		if err := left.remove(); err != nil {
			logger.Warn("a folder of an earlier sandbox cannot be removed", "error", err)
			continue
		}
		logger.Info("removed what an earlier ptc-mcp left", "folder", path)
	}
}

// ours tells whether a path is a folder that this user made.
func ours(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	status, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(status.Uid) == os.Geteuid()
}

// killProcess ends the process that was noted, if it still lives.
func (f folder) killProcess() {
	text, err := os.ReadFile(filepath.Join(f.path, "process"))
	if err != nil {
		return // it was never started
	}
	if id, ok := parseIdentity(string(text)); ok && !id.gone() {
		if now, known := processStarted(id.pid); known && now == id.started {
			_ = unix.Kill(id.pid, unix.SIGKILL) // fails when it has just ended
		}
	}
}

// used adds up the bytes and the entries in the scratch folder. It stops when
// there are more entries than most. A folder that cannot be looked into counts
// as more than any limit.
func (f folder) used(most int) (bytes int64, entries int) {
	_ = filepath.WalkDir(f.scratch(), func(_ string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) {
			bytes = math.MaxInt64
			return fs.SkipAll
		}
		if err != nil {
			return nil //nolint:nilerr // it was removed meanwhile
		}
		if entries++; entries > most {
			return fs.SkipAll
		}
		if info, err := entry.Info(); err == nil {
			if status, ok := info.Sys().(*syscall.Stat_t); ok {
				bytes += status.Blocks * 512 // <sys/stat.h>: always of 512 bytes
			}
		}
		return nil
	})
	return bytes, entries
}
