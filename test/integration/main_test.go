// Package integration tests ptc-mcp as its users have it: the built binary,
// spoken to over MCP stdio or run from the command line, with real MCP servers
// and real sandboxes. Tests of faults carry the number they have in the list of
// faults that tools of this kind have had (docs/faults.md).
package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// ptcMCP and testServer are the binaries under test, built with the race
// detector by TestMain.
var ptcMCP, testServer string

// repository is the root of the checkout.
var repository string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if repository, err = filepath.Abs("../.."); err != nil {
		return fail(err)
	}
	dir, err := os.MkdirTemp("", "ptc-mcp-integration-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	ptcMCP = filepath.Join(dir, "ptc-mcp")
	testServer = filepath.Join(dir, "ptc-testserver")
	for binary, pkg := range map[string]string{ptcMCP: "./cmd/ptc-mcp", testServer: "./test/servers/ptc-testserver"} {
		build := exec.Command("go", "build", "-race", "-o", binary, pkg)
		build.Dir = repository
		if out, err := build.CombinedOutput(); err != nil {
			return fail(fmt.Errorf("go build %s: %w\n%s", pkg, err, out))
		}
	}
	return m.Run()
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "integration:", err)
	return 1
}
