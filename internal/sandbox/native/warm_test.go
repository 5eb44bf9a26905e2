//go:build linux

package native

import (
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/sandboxtest"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/warm/warmtest"
)

func TestSandboxesThatWaitedKeepTheContract(t *testing.T) {
	warmtest.Run(t, func(t *testing.T, program string) sandbox.Backend {
		return zygoteRequired{t, newTestBackend(t, program)}
	}, sandboxtest.Options{ParallelStarts: 8, Leftovers: leftovers})
}
