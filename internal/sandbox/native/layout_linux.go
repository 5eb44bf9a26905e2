package native

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// A layout is what the sandbox's root holds for one interpreter. It is worked
// out once and used for every start.
type layout struct {
	binds []bind
	links []link
	masks []string

	// layers are folders that binds are shown through; shared lists what is
	// shown as it is, and refusal says why if that is the kernel's will.
	layers  []string
	shared  []string
	refusal error
}

// foreignFolders are those of installed packages inside the standard library.
// The runner starts without them (-S), and they may hold private code.
var foreignFolders = []string{"site-packages", "dist-packages"}

// graphical are extension modules whose libraries reach for a display.
var graphical = []string{"_tkinter."}

// newLayout works out what an interpreter needs: its executable, its standard
// library, the shared objects of both, the time zones.
func newLayout(python *interpreter) (*layout, error) {
	l := &layout{}
	if err := l.file(python.Executable, python.Executable); err != nil {
		return nil, err
	}
	libs := newLibraries("/")
	if err := libs.addExecutable(python.Executable); err != nil {
		return nil, err
	}
	// Loaded by name when a thread ends.
	if err := libs.addSoname("libgcc_s.so.1"); err != nil {
		return nil, err
	}
	for _, entry := range outermost(python.Library) {
		if err := l.library(entry, libs); err != nil {
			return nil, err
		}
	}
	if err := l.objects(libs); err != nil {
		return nil, err
	}
	if python.Zones != "" {
		if err := l.folder(python.Zones); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// outermost drops paths that lie in others.
func outermost(paths []string) []string {
	sorted := slices.Sorted(slices.Values(paths))
	var kept []string
	for _, path := range sorted {
		path = filepath.Clean(path)
		if len(kept) > 0 && (path == kept[len(kept)-1] || strings.HasPrefix(path, kept[len(kept)-1]+"/")) {
			continue
		}
		kept = append(kept, path)
	}
	return kept
}

// library adds a folder or zip file of modules.
func (l *layout) library(path string, libs *libraries) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return l.file(path, path)
	}
	if err := l.folder(path); err != nil {
		return err
	}
	for _, name := range foreignFolders {
		if info, err := os.Lstat(filepath.Join(path, name)); err == nil && info.IsDir() {
			l.masks = append(l.masks, filepath.Join(path, name))
		}
	}
	modules, err := filepath.Glob(filepath.Join(path, "lib-dynload", "*.so"))
	if err != nil {
		return err
	}
	for _, module := range modules {
		isGraphical := func(prefix string) bool { return strings.HasPrefix(filepath.Base(module), prefix) }
		if slices.ContainsFunc(graphical, isGraphical) {
			continue
		}
		if err := libs.addModule(module); err != nil {
			return err
		}
	}
	return nil
}

// objects adds shared objects, each where the loader looks for it. In the
// sandbox the loader has no configuration, and no /proc to learn an
// executable's own folder from: what lies outside its built-in folders gets a
// link beside the C library, which never does.
func (l *layout) objects(libs *libraries) error {
	var beside string
	for _, lib := range libs.found {
		if strings.HasPrefix(lib.soname, "libc.") {
			beside = filepath.Dir(lib.path)
		}
	}
	builtin := builtinDirs()
	paths := map[string]bool{}
	for _, lib := range libs.found {
		paths[lib.path] = true
		if err := l.file(lib.path, lib.path); err != nil {
			return err
		}
	}
	for _, lib := range libs.found {
		at := filepath.Join(beside, lib.soname)
		if beside != "" && !slices.Contains(builtin, filepath.Dir(lib.path)) && !paths[at] {
			l.links = append(l.links, link{Path: at, To: lib.path})
		}
	}
	if libs.loader == "" || paths[libs.loader] {
		return nil
	}
	return l.file(libs.loader, libs.loader)
}

// file adds one file; target may be a link on the host and is a file inside.
func (l *layout) file(path, target string) error {
	source, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	l.binds = append(l.binds, bind{Source: source, Target: filepath.Clean(target)})
	return nil
}

func (l *layout) folder(path string) error {
	source, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	l.binds = append(l.binds, bind{Source: source, Target: filepath.Clean(path), Dir: true})
	return nil
}

// readableByOthers checks that a user who owns nothing can use every file of
// the layout, where the sandbox runs as one. Folders above do not matter: the
// sandbox has its own.
func (l *layout) readableByOthers() error {
	for _, b := range l.binds {
		info, err := os.Stat(b.Source)
		if err != nil {
			return err
		}
		needed := fs.FileMode(0o004)
		if b.Dir {
			needed = 0o005
		}
		if info.Mode()&needed != needed {
			return fmt.Errorf("%s is readable by its owner only: the sandbox runs as user %d; allow others to read it (chmod -R o+rX)", b.Source, nobody)
		}
	}
	return nil
}

// readableByUs checks the same where the sandbox runs as this process's user.
func (l *layout) readableByUs() error {
	var problems []error
	for _, b := range l.binds {
		if err := unix.Access(b.Source, unix.R_OK); err != nil {
			problems = append(problems, &fs.PathError{Op: "read", Path: b.Source, Err: err})
		}
	}
	return errors.Join(problems...)
}
