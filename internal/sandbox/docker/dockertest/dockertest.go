// Package dockertest finds the engine and the image that tests run containers
// with. It is imported by tests only.
package dockertest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker"
)

// images are tried in order when PTC_MCP_TEST_IMAGE is not set: the default,
// and what stands in for it where no registry can be reached.
var images = []string{docker.DefaultImage, "ptc-mcp/python-offline:bookworm"}

// Require returns the image to test with. Without an engine or an image it
// fails the test where they must be there (CI=true, PTC_MCP_REQUIRE_DOCKER=1),
// and skips it elsewhere.
func Require(t testing.TB) (image string) {
	t.Helper()
	image, err := find()
	if err == nil {
		return image
	}
	if mustHave(os.Getenv) {
		t.Fatalf("containers must be tested here: %v", err)
	}
	t.Skipf("no containers here: %v", err) //nolint:forbidigo // the one place where a test may, and never in CI
	return ""
}

// Runtime returns the OCI runtime to test with, such as "runsc"; empty is the
// engine's own.
func Runtime() string { return os.Getenv("PTC_MCP_TEST_RUNTIME") }

// mustHave tells whether a missing engine is a failure.
func mustHave(getenv func(string) string) bool {
	return getenv("CI") == "true" || getenv("PTC_MCP_REQUIRE_DOCKER") == "1"
}

var find = sync.OnceValues(func() (string, error) {
	return firstUsable(candidates(os.Getenv), func(image string) error {
		backend := docker.New(docker.Config{Image: image, Pull: docker.PullNever, Logger: slog.New(slog.DiscardHandler)})
		defer backend.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_, err := backend.Probe(ctx)
		return err
	})
})

func candidates(getenv func(string) string) []string {
	if named := getenv("PTC_MCP_TEST_IMAGE"); named != "" {
		return []string{named}
	}
	return images
}

func firstUsable(names []string, probe func(string) error) (string, error) {
	var first error
	for _, name := range names {
		err := probe(name)
		if err == nil {
			return name, nil
		}
		if first == nil {
			first = err
		}
	}
	return "", fmt.Errorf("none of the images %v can be used: %w", names, first)
}
