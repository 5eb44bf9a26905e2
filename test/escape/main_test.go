//go:build linux

// Package escape holds sandboxes against hostile programs (those of
// internal/attack), and against the sudden death of everything that takes
// part. It runs real programs in real sandboxes, and shows of each attack that
// it works where nothing contains it.
package escape

import (
	"cmp"
	"os"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/native"
)

// canary is in the environment of this process, for attacks to find.
const canary = "PTC_MCP_ESCAPE_CANARY"

// TestMain serves as main does: the native sandbox starts this binary again.
// It is
// also the ptc-mcp that tests kill.
func TestMain(m *testing.M) {
	native.Init()
	if config := os.Getenv(servedConfig); config != "" {
		os.Exit(serve(config))
	}
	if err := os.Setenv(canary, cmp.Or(os.Getenv(canary), "a secret of the host")); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// patience bounds every wait: far more than anything takes.
const patience = 60 * time.Second
