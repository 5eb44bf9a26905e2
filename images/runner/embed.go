// Package runner carries the Python end of the channel as one text that any
// Python from 3.9 can boot, so that a sandbox needs no special image.
//
// It owns the bundling and the hash of the runner's source. It knows nothing of
// sandboxes or of what travels on the channel, and imports nothing internal.
package runner

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"sync"
)

// files holds the loader and the package. Its names are fixed at build time, so
// reading them cannot fail.
//
//go:embed loader.py ptc_runner/*.py
var files embed.FS

// Command returns the argv that boots the runner with the given interpreter:
// isolated from its environment and user (-I), without site packages (-S),
// writing no bytecode (-B). The last argument is the bundle, one source text
// under 112 KB; Linux allows 128 KB for a single argument (MAX_ARG_STRLEN).
func Command(python string) []string {
	return []string{python, "-I", "-S", "-B", "-c", bundle()}
}

// Stages returns the same as two source texts for an interpreter that boots
// once and is copied then: load imports the runner, serve starts it.
func Stages() (load, serve string) {
	return bundled("load"), "import ptc_runner.session\nptc_runner.session.main(" + strconv.QuoteToASCII(Hash()) + ")\n"
}

// Hash returns the first 16 hex digits of the SHA-256 of the runner's source.
// The runner says it in its hello frame, and an image with a precompiled copy
// keeps it in /opt/ptc-mcp/runner-<hash>.
func Hash() string { return hash() }

// hash covers every module of the package in the order of their file names:
// name, NUL, text, NUL. precompile.py computes the same.
var hash = sync.OnceValue(func() string {
	digest := sha256.New()
	for _, m := range modules() {
		for _, part := range []string{m.file, m.source} {
			_, _ = digest.Write([]byte(part)) // a hash never fails
			_, _ = digest.Write([]byte{0})
		}
	}
	return hex.EncodeToString(digest.Sum(nil))[:16]
})

var bundle = sync.OnceValue(func() string { return bundled("boot") })

// bundled is the loader followed by one call of a function of it.
func bundled(function string) string {
	var b strings.Builder
	b.WriteString(read("loader.py"))
	b.WriteString("\n\n" + function + "(\n    " + strconv.QuoteToASCII(Hash()) + ",\n    {\n")
	for _, m := range modules() {
		// Go's ASCII quoting is valid Python.
		b.WriteString("        " + strconv.QuoteToASCII(m.name) + ": " + strconv.QuoteToASCII(m.source) + ",\n")
	}
	b.WriteString("    },\n)\n")
	return b.String()
}

// module is one file of the package.
type module struct{ file, name, source string }

// modules returns the package's modules, sorted by file name.
func modules() []module {
	const dir = "ptc_runner"
	entries, err := fs.ReadDir(files, dir)
	if err != nil {
		panic("runner: " + err.Error()) // the folder is embedded by name
	}
	out := make([]module, 0, len(entries))
	for _, entry := range entries {
		name := dir + "." + strings.TrimSuffix(entry.Name(), ".py")
		if entry.Name() == "__init__.py" {
			name = dir
		}
		out = append(out, module{file: entry.Name(), name: name, source: read(path.Join(dir, entry.Name()))})
	}
	return out
}

func read(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic("runner: " + err.Error()) // the file is embedded by name
	}
	return string(text)
}
