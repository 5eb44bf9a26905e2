//go:build unix

package seatbelt

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// command is a load command that names a library or a folder.
type command struct {
	kind uint32
	name string
}

const loadRpath = 0x8000001c // <mach-o/loader.h>

// machO is the text of an image for one architecture.
func machO(cpu uint32, commands ...command) string {
	var loads bytes.Buffer
	for _, c := range commands {
		offset := uint32(24) // of the name: after timestamp and versions
		if c.kind == loadRpath {
			offset = 12
		}
		size := (offset + uint32(len(c.name)) + 8) &^ 7
		text := make([]byte, size)
		binary.LittleEndian.PutUint32(text, c.kind)
		binary.LittleEndian.PutUint32(text[4:], size)
		binary.LittleEndian.PutUint32(text[8:], offset)
		copy(text[offset:], c.name)
		loads.Write(text)
	}
	var image bytes.Buffer
	for _, word := range []uint32{0xfeedfacf, cpu, 0, 2 /* MH_EXECUTE */, uint32(len(commands)), uint32(loads.Len()), 0, 0} {
		_ = binary.Write(&image, binary.LittleEndian, word) // a buffer takes everything
	}
	return image.String() + loads.String()
}

const (
	amd64 = 0x01000007
	arm64 = 0x0100000c
)

// fat is the text of a file with an image for each architecture.
func fat(images map[uint32]string) string {
	var head, body bytes.Buffer
	write := func(words ...uint32) {
		for _, word := range words {
			_ = binary.Write(&head, binary.BigEndian, word)
		}
	}
	const start = 4096
	write(0xcafebabe, uint32(len(images)))
	for _, cpu := range []uint32{amd64, arm64} {
		write(cpu, 0, start+uint32(body.Len()), uint32(len(images[cpu])), 0)
		body.WriteString(images[cpu])
	}
	return head.String() + strings.Repeat("\x00", start-head.Len()) + body.String()
}

func TestLibrariesAreFoundAsTheLoaderFindsThem(t *testing.T) {
	root := tree(t, map[string]string{
		"bin/python": machO(amd64,
			command{loadDylib, "/usr/lib/libSystem.B.dylib"},
			command{loadDylib, "@executable_path/../lib/libpython.dylib"},
			command{loadRpath, "@executable_path/../more"}),
		"lib/libpython.dylib":            machO(amd64, command{loadDylib, "/System/Library/Frameworks/CoreFoundation.framework/CoreFoundation"}),
		"lib/dynload/_ssl.so":            machO(amd64, command{loadDylib, "@rpath/libssl.dylib"}, command{loadRpath, "@loader_path/../nowhere"}, command{loadRpath, "@loader_path/.."}),
		"lib/libssl.dylib":               machO(amd64, command{loadDylib, "@loader_path/libcrypto.dylib"}, command{loadDylib, "@rpath/libssl.dylib"}),
		"lib/libcrypto.dylib":            machO(amd64),
		"more/libz.dylib":                machO(amd64),
		"lib/dynload/zlib.so":            fat(map[uint32]string{amd64: machO(amd64, command{loadWeakDylib, "@rpath/libz.dylib"}), arm64: machO(arm64, command{reexportDylib, "@rpath/libz.dylib"})}),
		"lib/dynload/_gdbm.so":           machO(amd64, command{loadDylib, "@rpath/libmissing.dylib"}, command{loadDylib, "/nowhere/at/all.dylib"}),
		"lib/dynload/_text.so":           "not an image at all",
		"lib/dynload/_broken.so":         machO(amd64, command{loadDylib, "x"})[:36],
		"lib/dynload/_empty.so":          "",
		"lib/dynload/_long.so":           strings.Replace(machO(amd64, command{loadDylib, "y"}), "\x18\x00\x00\x00y", "\xff\xff\xff\xffy", 1),
		"lib/dynload/lib/unneeded.dylib": machO(amd64),
	})
	d := newDylibs(filepath.Join(root, "bin/python"))
	d.add(filepath.Join(root, "bin/python"))
	modules, err := filepath.Glob(filepath.Join(root, "lib/dynload/*.so"))
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range modules {
		d.add(module)
	}
	var got []string
	for _, path := range d.found {
		name, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, name)
	}
	slices.Sort(got)
	if want := []string{"lib/libcrypto.dylib", "lib/libpython.dylib", "lib/libssl.dylib", "more/libz.dylib"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
