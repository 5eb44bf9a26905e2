package subject

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Config is how a server is to be set up for a row.
type Config struct {
	// Servers are the test servers behind it, with their arguments, by name.
	Servers map[string][]string
	// Execution are further lines under execution, each "key: value".
	Execution []string
	// Flags are further arguments of ptc-mcp serve.
	Flags []string
}

// Width is how many calls may be under way at once, in a server and from Go.
const Width = 64

// shared are the limits that every server of this kind knows.
var shared = []string{
	"timeout_seconds: 3600", "tool_call_timeout_seconds: 600",
	"max_tool_calls: 1000000", fmt.Sprintf("max_concurrent_calls: %d", Width),
	fmt.Sprintf("max_tool_result_bytes: %d", 128<<20), `trace: "off"`,
}

// yaml writes a configuration in the format of ptc-mcp.
func (c Config) yaml(testServer string, execution, sections []string) []byte {
	var b strings.Builder
	b.WriteString("servers:\n")
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		fmt.Fprintf(&b, "  - name: %s\n    transport: stdio\n    command: %s\n    args: %s\n", name, quote(testServer), quote(c.Servers[name]))
	}
	b.WriteString("execution:\n")
	for _, line := range execution {
		b.WriteString("  " + line + "\n")
	}
	for _, line := range sections {
		b.WriteString(line + "\n")
	}
	return []byte(b.String())
}

// mcpServers writes the servers in the format that most clients read.
func (c Config) mcpServers(testServer string) []byte {
	type entry struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	entries := map[string]entry{}
	for name, args := range c.Servers {
		entries[name] = entry{testServer, args}
	}
	return []byte(quote(map[string]any{"mcpServers": entries}))
}

// quote writes a value as JSON, which is YAML too.
func quote(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only strings and lists of strings come here
	}
	return string(b)
}

// write puts a file into dir.
func write(dir, name string, content []byte) (string, error) {
	path := filepath.Join(dir, name)
	return path, os.WriteFile(path, content, 0o600)
}
