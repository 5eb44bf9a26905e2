package native

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A layer is a folder of the host of which each sandbox has an overlay of its
// own. What is shown through it has inodes that no other sandbox has, so that
// locks on files of the interpreter are no signals: to other programs, or to
// processes outside. The content, and the memory that holds it, stays shared.
type layer struct {
	Source string // resolved
	// Tree is the descriptor of the detached mount, where the host opened it;
	// 0 means that the supervisor opens Source by itself.
	Tree int
}

// separate chooses a layer for every file and folder of the layout, as few
// layers as can be. Those that no overlay can show, it lists in shared.
// mounts are the mount points of this process.
func (l *layout) separate(mounts []string, u user) {
	l.layers, l.shared = nil, nil
	for n := range l.binds {
		b := &l.binds[n]
		if b.Device {
			continue
		}
		folder := widest(filepath.Dir(b.Source), mounts, u)
		if folder == "" || crossed(b.Source, mounts) {
			b.Layer = 0
			l.shared = append(l.shared, b.Source)
			continue
		}
		if b.Layer = slices.Index(l.layers, folder) + 1; b.Layer == 0 {
			l.layers = append(l.layers, folder)
			b.Layer = len(l.layers)
		}
	}
}

// share gives every file up to be shared, where no overlay can be made.
func (l *layout) share(refusal error) {
	l.layers, l.shared, l.refusal = nil, nil, refusal
	for n := range l.binds {
		if !l.binds[n].Device {
			l.binds[n].Layer = 0
			l.shared = append(l.shared, l.binds[n].Source)
		}
	}
}

// widest returns the outermost folder above a file, or folder itself, that can
// be a layer with that file in it: the user of the sandbox can walk from it to
// the file, and no other mount is in it, since an overlay ends there and an
// ordinary user may not look behind one. It is empty if there is none.
func widest(folder string, mounts []string, u user) string {
	found := ""
	for outer := folder; outer != "/" && u.enters(outer) && !holdsMount(outer, mounts); outer = filepath.Dir(outer) {
		found = outer
	}
	if found == "" && u.privileged && folder != "/" && u.enters(folder) {
		return folder // of other mounts in it, it sees the folders beneath
	}
	return found
}

// enters says whether the user of the sandbox may walk through a folder.
func (u user) enters(folder string) bool {
	if !u.privileged {
		return unix.Access(folder, unix.X_OK) == nil
	}
	info, err := os.Stat(folder)
	return err == nil && info.Mode()&fs.FileMode(0o001) != 0
}

// holdsMount says whether something is mounted below a folder.
func holdsMount(folder string, mounts []string) bool {
	return slices.ContainsFunc(mounts, func(m string) bool { return strings.HasPrefix(m, strings.TrimSuffix(folder, "/")+"/") })
}

// crossed says whether a path is a mount point or something is mounted below.
func crossed(path string, mounts []string) bool {
	return slices.Contains(mounts, path) || holdsMount(path, mounts)
}

// mountPoints lists those that this process sees.
func mountPoints() ([]string, error) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	defer func() { _ = file.Close() }()
	var points []string
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		// The fifth field; spaces and the like are octal (proc_pid_mountinfo(5)).
		if fields := strings.Fields(lines.Text()); len(fields) > 4 {
			points = append(points, unescapeOctal(fields[4]))
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	return points, nil
}

func unescapeOctal(text string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, `\`)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if len(after) >= 3 {
			if code, err := strconv.ParseUint(after[:3], 8, 8); err == nil {
				b.WriteByte(byte(code))
				text = after[3:]
				continue
			}
		}
		b.WriteByte('\\')
		text = after
	}
}

// sharedWarning says what is shared with other sandboxes and why, or nothing.
func (l *layout) sharedWarning() string {
	if len(l.shared) == 0 {
		return ""
	}
	files, reason := l.shared[0], "something is mounted in its folder, or only its owner can enter that"
	if more := len(l.shared) - 1; more > 0 {
		files = fmt.Sprintf("%s and %d more files or folders", files, more)
	}
	if l.refusal != nil {
		reason = "the kernel or the file system refuses: " + l.refusal.Error()
	}
	return fmt.Sprintf("programs that run at the same time can signal each other by locks on %s, because no overlay can be made there (%s): keep Python in a folder of its own on a local disk, or use docker", files, reason)
}
