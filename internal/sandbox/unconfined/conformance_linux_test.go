package unconfined

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/sandboxtest"
)

func TestConformance(t *testing.T) {
	folders := t.TempDir()
	t.Setenv("TMPDIR", folders)
	sandboxtest.Run(t, func(t *testing.T, program string) sandbox.Backend {
		return newBackend(t, program, slog.New(slog.DiscardHandler))
	}, sandboxtest.Options{
		Leftovers: func(t *testing.T) []string {
			left, err := filepath.Glob(filepath.Join(folders, "ptc-mcp-*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range (&tree{folder: folders, root: -1}).processes() {
				if p.attached {
					left = append(left, fmt.Sprintf("process %d", p.pid))
				}
			}
			return left
		},
	})
}
