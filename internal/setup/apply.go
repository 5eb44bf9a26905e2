package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"
)

// commandTimeout bounds the client's own command.
const commandTimeout = time.Minute

// Done is a change that was made.
type Done struct {
	Path string `json:"path"`
	// Backup is the copy of what was there before; empty for a new file.
	Backup string   `json:"backup,omitempty"`
	Why    []string `json:"changes"`
	// Command is the client's own command that made the change, if one did.
	Command []string `json:"command,omitempty"`
}

// Diff is the change as a unified diff, without its secrets.
func (p *Plan) Diff(c Change) string {
	before := c.Path
	if c.Before == nil {
		before = os.DevNull
	}
	return p.Mask(string(diff.Diff(before, c.Before, c.Path, c.After)))
}

// Apply makes the changes, in their order. Each file is replaced at once, after
// a backup of it was made; a file that is a link stays one. It stops at the
// first that cannot be made, and returns those that were.
func (p *Plan) Apply(ctx context.Context, now time.Time) ([]Done, error) {
	var made []Done
	for _, c := range p.Changes {
		done, err := c.apply(ctx, now)
		if err != nil {
			return made, fmt.Errorf("%s: %w", c.Path, err)
		}
		made = append(made, done)
	}
	return made, nil
}

func (c Change) apply(ctx context.Context, now time.Time) (Done, error) {
	done := Done{Path: c.Path, Why: c.Why, Command: c.Command}
	target, err := follow(c.Path)
	if err != nil {
		return done, err
	}
	mode := fs.FileMode(0o600)
	present, err := os.ReadFile(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return done, err
	default:
		info, err := os.Stat(target)
		if err != nil {
			return done, err
		}
		if mode = info.Mode().Perm(); c.Private {
			mode &= 0o600
		}
		if done.Backup, err = backup(c.Path, present, mode, now); err != nil {
			return done, err
		}
	}
	if !bytes.Equal(present, c.Before) {
		return done, errors.New("the file has changed in the meantime; nothing was written to it, run init again")
	}
	if !bytes.Equal(c.written, c.Before) {
		if err := replace(target, c.written, mode); err != nil {
			return done, err
		}
	}
	if c.Command == nil {
		return done, nil
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	if out, err := exec.CommandContext(ctx, c.Command[0], c.Command[1:]...).CombinedOutput(); err != nil {
		return done, fmt.Errorf("%s: %w: %s", strings.Join(c.Command, " "), err, bytes.TrimSpace(out))
	}
	return done, nil
}

// follow resolves a link to the file it leads to, which need not exist.
func follow(path string) (string, error) {
	for range 40 {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().Type() != fs.ModeSymlink {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		target, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	return "", errors.New("leads through too many links")
}

// backup copies a file beside itself, under a name that is not taken.
func backup(path string, data []byte, mode fs.FileMode, now time.Time) (string, error) {
	base := path + ".backup-" + now.Format("20060102-150405")
	for n := 1; ; n++ {
		name := base
		if n > 1 {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = file.Write(data)
		return name, errors.Join(err, file.Close())
	}
}

// replace writes a file so that it has either the old or the new content.
func replace(path string, data []byte, mode fs.FileMode) error {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(folder, ".ptc-mcp-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(data)
	err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
