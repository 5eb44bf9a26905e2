//go:build linux

package escape

import (
	"os"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/attack"
)

// limits are small, so that bombs burst soon.
func limits() attack.Limits {
	return attack.Limits{
		MemoryBytes:  128 << 20,
		ScratchBytes: 4 << 20,
		Processes:    32,
		OpenFiles:    128,
		ToolCalls:    20,
		OutputBytes:  64 << 10,
	}
}

func lay(t *testing.T, limits attack.Limits) *attack.Bait {
	t.Helper()
	bait, err := attack.Lay(t.Context(), limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bait.Remove)
	return bait
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
