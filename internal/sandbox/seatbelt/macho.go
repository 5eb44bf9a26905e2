//go:build unix

package seatbelt

import (
	"bytes"
	"debug/macho"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// image is what a Mach-O file says about the libraries it needs.
type image struct {
	needs  []string // as it names them: absolute, @rpath/…, @loader_path/…
	rpaths []string // what @rpath stands for
}

// Load commands that name a library (<mach-o/loader.h>). The weak and lazy ones
// are included: Python's modules use what is there.
const (
	loadDylib         = 0xc
	loadWeakDylib     = 0x80000018
	reexportDylib     = 0x8000001f
	lazyLoadDylib     = 0x20
	loadUpwardDylib   = 0x80000023
	dylibNameOffsetAt = 8 // in the command: uint32 cmd, cmdsize, name offset
)

// readImage reads a Mach-O file, of several architectures the one of this
// machine. Anything else needs nothing: it is not for this loader.
func readImage(path string) image {
	var found image
	opened, err := os.Open(path)
	if err != nil {
		return found
	}
	defer opened.Close()
	file, err := macho.NewFile(opened)
	if err != nil {
		if file = ofThisMachine(opened); file == nil {
			return found
		}
	}
	for _, load := range file.Loads {
		if rpath, ok := load.(*macho.Rpath); ok {
			found.rpaths = append(found.rpaths, rpath.Path)
			continue
		}
		if name := dylibName(file.ByteOrder, load.Raw()); name != "" {
			found.needs = append(found.needs, name)
		}
	}
	return found
}

// ofThisMachine chooses among the images of a file with several, or returns nil.
func ofThisMachine(opened *os.File) *macho.File {
	fat, err := macho.NewFatFile(opened)
	if err != nil {
		return nil
	}
	want := macho.CpuAmd64
	if runtime.GOARCH == "arm64" {
		want = macho.CpuArm64
	}
	for _, arch := range fat.Arches {
		if arch.Cpu == want {
			return arch.File
		}
	}
	return fat.Arches[0].File // there is at least one, which Rosetta may run
}

func dylibName(order binary.ByteOrder, command []byte) string {
	if len(command) < dylibNameOffsetAt+4 {
		return ""
	}
	switch order.Uint32(command) {
	case loadDylib, loadWeakDylib, reexportDylib, lazyLoadDylib, loadUpwardDylib:
	default:
		return ""
	}
	offset := order.Uint32(command[dylibNameOffsetAt:])
	if uint64(offset) >= uint64(len(command)) {
		return ""
	}
	name, _, _ := bytes.Cut(command[offset:], []byte{0})
	return string(name)
}

// dylibs are the libraries that some images need, directly or not.
type dylibs struct {
	executable string
	rpaths     []string // the executable's, which hold for all
	seen       map[string]bool
	found      []string // as the loader opens them: links not resolved
}

func newDylibs(executable string) *dylibs {
	d := &dylibs{executable: executable, seen: map[string]bool{}}
	for _, rpath := range readImage(executable).rpaths {
		d.rpaths = append(d.rpaths, d.expand(rpath, executable))
	}
	return d
}

// add notes what the image at path needs, except the system's own, which all
// programs may read.
func (d *dylibs) add(path string) {
	if d.seen[path] {
		return
	}
	d.seen[path] = true
	needs := readImage(path)
	for _, name := range needs.needs {
		for _, candidate := range d.candidates(name, path, needs.rpaths) {
			if strings.HasPrefix(candidate, "/usr/lib/") || strings.HasPrefix(candidate, "/System/") || d.seen[candidate] {
				break
			}
			if info, err := os.Stat(candidate); err == nil && info.Mode().IsRegular() {
				d.found = append(d.found, candidate)
				d.add(candidate)
				break
			}
		}
	}
}

// candidates are the paths under which the loader looks for a name.
func (d *dylibs) candidates(name, from string, rpaths []string) []string {
	rest, relative := strings.CutPrefix(name, "@rpath/")
	if !relative {
		return []string{d.expand(name, from)}
	}
	var list []string
	for _, rpath := range rpaths {
		list = append(list, filepath.Join(d.expand(rpath, from), rest))
	}
	for _, rpath := range d.rpaths {
		list = append(list, filepath.Join(rpath, rest))
	}
	return list
}

func (d *dylibs) expand(path, from string) string {
	if rest, ok := strings.CutPrefix(path, "@loader_path"); ok {
		return filepath.Join(filepath.Dir(from), rest)
	}
	if rest, ok := strings.CutPrefix(path, "@executable_path"); ok {
		return filepath.Join(filepath.Dir(d.executable), rest)
	}
	return path
}
