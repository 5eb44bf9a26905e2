package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pythons are the images that `make test` prepares, one a Python version from
// the oldest to the newest that is supported.
var pythons = map[string]string{
	"3.9":  "ptc-mcp/python-offline:bullseye",
	"3.11": "ptc-mcp/python-offline:bookworm",
	"3.13": "ptc-mcp/python-offline:trixie",
	"3.14": "ptc-mcp/python-offline:forky",
}

// Each program of testdata/idioms runs unchanged on every Python and prints
// what the comments at its end say (faults 13, 15, 19; the API's idioms).
func TestOrdinaryPythonRunsOnEveryVersion(t *testing.T) {
	programs, err := filepath.Glob("testdata/idioms/*.py")
	if err != nil || len(programs) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	for version, image := range pythons {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			config := on(t, "docker").test("t", "echo").limit("timeout_seconds", 60)
			config.image = image
			c := serve(t, config.String())
			got := c.output("import sys\nprint('%d.%d' % sys.version_info[:2])")
			if strings.TrimSpace(got) != version {
				t.Fatalf("the image %s has Python %s", image, got)
			}
			for _, path := range programs {
				t.Run(strings.TrimSuffix(filepath.Base(path), ".py"), func(t *testing.T) {
					source, want := idiom(t, path)
					r := c.execute(source)
					if r.IsError {
						t.Fatalf("failed:\n%s", r.Text[0])
					}
					if r.Structured.Output != want {
						t.Errorf("printed:\n%s\nwant:\n%s", r.Structured.Output, want)
					}
				})
			}
		})
	}
}

// idiom reads a program and what its last comments say it prints.
func idiom(t *testing.T, path string) (source, want string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	source, expected, found := strings.Cut(string(raw), "\n# prints:\n")
	if !found {
		t.Fatalf("%s does not say what it prints", path)
	}
	var lines strings.Builder
	for line := range strings.Lines(expected) {
		lines.WriteString(strings.TrimPrefix(strings.TrimPrefix(line, "#"), " "))
	}
	return source + "\n", lines.String()
}
