package integration

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker/dockertest"
)

// configuration writes a config.yaml. JSON is YAML, so values are quoted the
// JSON way.
type configuration struct {
	servers   []string
	execution []string
	tools     string
	sandbox   string
	image     string
}

// on returns the configuration of a sandbox of the given kind.
func on(t *testing.T, kind string) *configuration {
	t.Helper()
	c := &configuration{sandbox: kind}
	if kind == "docker" {
		c.image = dockertest.Require(t)
	}
	return c
}

// limit sets a key under execution.
func (c *configuration) limit(key string, value any) *configuration {
	c.execution = append(c.execution, fmt.Sprintf("  %s: %v\n", key, value))
	return c
}

func (c *configuration) filter(line string) *configuration {
	c.tools += "  " + line + "\n"
	return c
}

func quote(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only strings and lists of strings come here
	}
	return string(b)
}

// stdio adds a server that is started as a process.
func (c *configuration) stdio(name string, argv ...string) *configuration {
	c.servers = append(c.servers, fmt.Sprintf("  - name: %s\n    command: %s\n    args: %s\n", quote(name), quote(argv[0]), quote(argv[1:])))
	return c
}

// remote adds a server that is reached by URL; transport is "http" or "sse".
func (c *configuration) remote(name, transport, url string) *configuration {
	c.servers = append(c.servers, fmt.Sprintf("  - name: %s\n    transport: %s\n    url: %s\n", quote(name), transport, quote(url)))
	return c
}

// test adds the test server under its mode's name.
func (c *configuration) test(name string, args ...string) *configuration {
	return c.stdio(name, append([]string{testServer}, args...)...)
}

func (c *configuration) everything() *configuration {
	return c.stdio("everything", "node", npmServer("everything"), "stdio")
}

func (c *configuration) filesystem(folder string) *configuration {
	return c.stdio("filesystem", "node", npmServer("filesystem"), folder)
}

func (c *configuration) memory(t *testing.T) *configuration {
	c.stdio("memory", "node", npmServer("memory"))
	c.servers[len(c.servers)-1] += "    env:\n      MEMORY_FILE_PATH: " + quote(filepath.Join(t.TempDir(), "memory.jsonl")) + "\n"
	return c
}

func npmServer(name string) string {
	return filepath.Join(repository, "test/npm/node_modules/@modelcontextprotocol/server-"+name, "dist/index.js")
}

func (c *configuration) String() string {
	var b strings.Builder
	if len(c.servers) > 0 {
		b.WriteString("servers:\n" + strings.Join(c.servers, ""))
	}
	if c.tools != "" {
		b.WriteString("tools:\n" + c.tools)
	}
	b.WriteString("execution:\n  sandbox: " + c.sandbox + "\n" + strings.Join(c.execution, ""))
	if c.image != "" {
		b.WriteString("docker:\n  image: " + quote(c.image) + "\n  pull: never\n")
	}
	return b.String()
}

// inEach runs a test in every kind of sandbox that this system has.
func inEach(t *testing.T, test func(t *testing.T, kind string)) {
	t.Helper()
	kinds := []string{"docker"}
	if runtime.GOOS == "linux" {
		kinds = append(kinds, "native")
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			if kind == "docker" {
				dockertest.Require(t)
			}
			test(t, kind)
		})
	}
}
