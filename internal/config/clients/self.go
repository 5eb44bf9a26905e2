package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const ownName = "ptc-mcp"

// IsSelf reports whether a command starts ptc-mcp: by its name or by a link to
// it, or, as far as the arguments show, through npx, docker, a shell or any
// other program.
func IsSelf(command string, args []string) bool {
	if programName(command) == ownName || sameProgram(command) {
		return true
	}
	var words []string
	for _, arg := range args {
		words = append(words, strings.FieldsFunc(arg, func(r rune) bool { return strings.ContainsRune(" \t\n'\"=", r) })...)
	}
	named := false
	for _, word := range words {
		switch {
		case named && word == "serve":
			return true
		case programName(word) != ownName:
		case !strings.HasPrefix(word, "/") && !strings.HasPrefix(word, ".") && !strings.Contains(word, `\`):
			return true // a package, an image or a program, not a folder
		default:
			named = true
		}
	}
	return false
}

// programName is what a word names as a program, a package or an image,
// without folder, extension, version and tag.
func programName(word string) string {
	if i := strings.LastIndexAny(word, `/\`); i >= 0 {
		word = word[i+1:]
	}
	if i := strings.IndexAny(word, "@:"); i > 0 {
		word = word[:i]
	}
	word = strings.ToLower(word)
	for _, extension := range []string{".exe", ".cmd", ".sh"} {
		word = strings.TrimSuffix(word, extension)
	}
	return word
}

// sameProgram reports whether the command is, through links, a program named
// ptc-mcp or the very file of this process.
func sameProgram(command string) bool {
	path, err := exec.LookPath(command)
	if err != nil {
		return false
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	if programName(target) == ownName {
		return true
	}
	own, err := os.Executable()
	if err != nil {
		return false
	}
	a, errA := os.Stat(target)
	b, errB := os.Stat(own)
	return errA == nil && errB == nil && os.SameFile(a, b)
}
