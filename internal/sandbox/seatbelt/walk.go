//go:build unix

package seatbelt

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks bounds the symbolic links on one path, as the kernel does
// (MAXSYMLINKS is 32).
const maxLinks = 32

// walk follows an absolute path as the kernel does. It returns where it leads,
// and every folder and link passed on the way: what has to be seen to get
// there. The end itself is not among them.
func walk(path string) (end string, passed []string, err error) {
	if !filepath.IsAbs(path) {
		return "", nil, fmt.Errorf("%q is not an absolute path", path)
	}
	at, rest := "/", strings.Split(filepath.Clean(path), "/")
	for links := 0; len(rest) > 0; {
		step := rest[0]
		rest = rest[1:]
		if step == "" || step == "." {
			continue
		}
		if step == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, step)
		info, err := os.Lstat(next)
		if err != nil {
			return "", nil, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			if len(rest) > 0 {
				passed = append(passed, at)
			}
			continue
		}
		if links++; links > maxLinks {
			return "", nil, fmt.Errorf("%s: too many symbolic links", path)
		}
		passed = append(passed, next)
		target, err := os.Readlink(next)
		if err != nil {
			return "", nil, err
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return at, passed, nil
}
