package native

import (
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A library is a shared object: where the loader finds it, and the name by
// which it is asked for.
type library struct{ soname, path string }

// libraries are all shared objects that some binaries need, directly or not,
// found as the system's loader would find them, without running anything.
type libraries struct {
	dirs   []string // the loader's own, searched last
	seen   map[string]bool
	loader string // the program interpreter, as the executable names it
	found  []library
}

// multiarch is the name of Debian's folder for this architecture's libraries.
func multiarch() string {
	if runtime.GOARCH == "arm64" {
		return "aarch64-linux-gnu"
	}
	return "x86_64-linux-gnu"
}

// builtinDirs are those that loaders search without any configuration.
func builtinDirs() []string {
	return []string{
		"/lib/" + multiarch(), "/usr/lib/" + multiarch(),
		"/lib64", "/usr/lib64", "/lib", "/usr/lib",
	}
}

// newLibraries reads the loader's configuration below root ("/").
func newLibraries(root string) *libraries {
	configured := loaderDirs(root, "/etc/ld.so.conf", 0)
	return &libraries{dirs: append(builtinDirs(), configured...), seen: map[string]bool{}}
}

// loaderDirs reads ld.so.conf and what it includes, to a small depth.
func loaderDirs(root, path string, depth int) []string {
	file, err := os.Open(filepath.Join(root, path))
	if err != nil || depth > 4 {
		return nil
	}
	defer func() { _ = file.Close() }()
	var dirs []string
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		line, _, _ := strings.Cut(scanner.Text(), "#")
		fields := strings.Fields(line)
		switch {
		case len(fields) == 2 && fields[0] == "include":
			pattern := fields[1]
			if !filepath.IsAbs(pattern) {
				pattern = filepath.Join(filepath.Dir(path), pattern)
			}
			matches, _ := filepath.Glob(filepath.Join(root, pattern)) // fails on a bad pattern only
			for _, match := range matches {
				rel, err := filepath.Rel(root, match)
				if err == nil {
					dirs = append(dirs, loaderDirs(root, "/"+rel, depth+1)...)
				}
			}
		case len(fields) == 1 && filepath.IsAbs(fields[0]):
			dirs = append(dirs, filepath.Clean(fields[0]))
		}
	}
	return dirs
}

// addExecutable adds what an executable needs, its loader included.
func (l *libraries) addExecutable(path string) error {
	file, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer func() { _ = file.Close() }()
	for _, segment := range file.Progs {
		if segment.Type != elf.PT_INTERP {
			continue
		}
		text := make([]byte, segment.Filesz)
		if _, err := segment.ReadAt(text, 0); err != nil {
			return fmt.Errorf("%s: read the loader's name: %w", path, err)
		}
		l.loader = strings.TrimRight(string(text), "\x00")
	}
	return l.addNeeded(file, path, nil)
}

// addModule adds what an extension module needs. What is missing is left out:
// the module then fails to import, as it does outside.
func (l *libraries) addModule(path string) error {
	file, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer func() { _ = file.Close() }()
	err = l.addNeeded(file, path, nil)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// addSoname adds a library that is loaded by name at run time.
func (l *libraries) addSoname(soname string) error {
	err := l.add(soname, nil, nil)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// addNeeded walks one object's needs. inherited is the DT_RPATH of the objects
// that asked for it, which counts for it too.
func (l *libraries) addNeeded(file *elf.File, path string, inherited []string) error {
	needed, err := file.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	runpath := searchPath(file, elf.DT_RUNPATH, path)
	rpath := append(searchPath(file, elf.DT_RPATH, path), inherited...)
	search := runpath
	if len(runpath) == 0 {
		search = rpath
	}
	var missing error
	for _, soname := range needed {
		if err := l.add(soname, search, rpath); err != nil {
			missing = errors.Join(missing, fmt.Errorf("%s: %w", path, err))
		}
	}
	return missing
}

// add finds one library in search, then where the loader always looks, and
// adds it and its needs.
func (l *libraries) add(soname string, search, rpath []string) error {
	if l.seen[soname] {
		return nil
	}
	for _, dir := range slices.Concat(search, l.dirs) {
		path := filepath.Join(dir, soname)
		if filepath.IsAbs(soname) {
			path = soname
		}
		file, err := elf.Open(path)
		if err != nil {
			continue // not there, or not an object of this kind
		}
		if file.Machine != machine() {
			_ = file.Close()
			continue
		}
		l.seen[soname] = true
		l.found = append(l.found, library{soname: filepath.Base(soname), path: path})
		err = l.addNeeded(file, path, rpath)
		_ = file.Close()
		return err
	}
	return fmt.Errorf("library %s: %w", soname, os.ErrNotExist)
}

func machine() elf.Machine {
	if runtime.GOARCH == "arm64" {
		return elf.EM_AARCH64
	}
	return elf.EM_X86_64
}

// searchPath reads DT_RPATH or DT_RUNPATH, with $ORIGIN filled in.
func searchPath(file *elf.File, tag elf.DynTag, path string) []string {
	entries, err := file.DynString(tag)
	if err != nil {
		return nil
	}
	origin := filepath.Dir(path)
	var dirs []string
	for _, entry := range entries {
		for _, dir := range strings.Split(entry, ":") {
			dir = strings.NewReplacer("$ORIGIN", origin, "${ORIGIN}", origin).Replace(dir)
			if filepath.IsAbs(dir) {
				dirs = append(dirs, filepath.Clean(dir))
			}
		}
	}
	return dirs
}
