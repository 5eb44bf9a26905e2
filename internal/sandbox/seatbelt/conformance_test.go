//go:build unix

package seatbelt

import (
	"maps"
	"path/filepath"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/sandboxtest"
)

// forking are the cases that need a second process, which the profile refuses.
var forking = map[string]string{
	"output and status are kept after a child with too much memory, handled": "it forks",
	"children that left the session end with the first process":              "it forks",
	"orphans are reaped":                             "it forks",
	"the memory limit counts all processes together": "it forks",
}

// uncontained are the cases that the stand-in for sandbox-exec cannot pass.
var uncontained = map[string]string{
	"nothing else is writable":               "the stand-in contains nothing",
	"it is not root and has no capabilities": "the stand-in contains nothing",
	"host files cannot be read":              "the stand-in contains nothing",
	"there is no network":                    "the stand-in contains nothing",
}

func TestTheBackendKeepsTheContract(t *testing.T) {
	folders := t.TempDir()
	t.Setenv("TMPDIR", folders)
	omit := maps.Clone(forking)
	if !onMac {
		maps.Copy(omit, uncontained)
	}
	sandboxtest.Run(t, func(t *testing.T, program string) sandbox.Backend {
		return newTestBackend(t, program)
	}, sandboxtest.Options{
		Leftovers: func(t *testing.T) []string {
			left, err := filepath.Glob(filepath.Join(folders, folderPrefix+"*"))
			if err != nil {
				t.Fatal(err)
			}
			return left
		},
		Omit: omit,
	})
}
