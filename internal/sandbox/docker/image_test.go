package docker_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/docker/docker/api/types/image"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker/dockertest"
)

// waysOut is what every error about an image must offer.
var waysOut = []string{"docker pull", "docker load", "docker.image", "sandbox: native"}

func expectWaysOut(t *testing.T, err error, says string) {
	t.Helper()
	if !errors.Is(err, sandbox.ErrUnavailable) {
		t.Fatalf("got %v, want one that wraps ErrUnavailable", err)
	}
	for _, way := range append(waysOut, says) {
		if !strings.Contains(err.Error(), way) {
			t.Errorf("%v\ndoes not say %q", err, way)
		}
	}
}

func TestAMissingImageIsNotPulledWhenThatIsForbidden(t *testing.T) {
	registry := newRegistry(t)
	backend := newBackend(t, func(c *docker.Config) { c.Image = registry.name() })
	_, err := backend.Start(t.Context(), sandbox.Spec{})
	expectWaysOut(t, err, `"never"`)
	_, err = backend.Probe(t.Context())
	expectWaysOut(t, err, `"never"`)
	if registry.asked() != 0 {
		t.Error("the registry was asked")
	}
}

func TestAnImageThatCannotBePulledIsAnErrorWithTheWaysOut(t *testing.T) {
	registry := newRegistry(t)
	name := strings.Replace(registry.name(), "tiny:1", "tiny:gone", 1)
	backend := newBackend(t, func(c *docker.Config) { c.Image, c.Pull = name, docker.PullMissing })
	_, err := backend.Start(t.Context(), sandbox.Spec{})
	expectWaysOut(t, err, "tiny:gone")
	_, err = backend.Probe(t.Context())
	expectWaysOut(t, err, "tiny:gone")
}

func TestAMissingImageIsPulledOnceForAllWhoNeedIt(t *testing.T) {
	registry := newRegistry(t)
	var mu sync.Mutex
	var reports []docker.PullProgress
	backend := newBackend(t, func(c *docker.Config) {
		c.Image, c.Pull = registry.name(), docker.PullMissing
		c.Progress = func(p docker.PullProgress) {
			mu.Lock()
			defer mu.Unlock()
			reports = append(reports, p)
		}
	})
	removeImage(t, registry.name())

	// A start that is cancelled says that the pull goes on.
	ctx, cancel := context.WithCancel(t.Context())
	impatient := make(chan error, 1)
	go func() {
		_, err := backend.Start(ctx, sandbox.Spec{})
		impatient <- err
	}()
	// A probe that sees the pull under way says so.
	is, err := backend.Probe(t.Context())
	if err != nil || len(is.Warnings) == 0 || !strings.Contains(strings.Join(is.Warnings, " "), "is being pulled") {
		t.Errorf("Probe: got %v, %v, want a warning that the image is being pulled", is.Warnings, err)
	}
	cancel()
	if err := <-impatient; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "still being pulled") {
		t.Errorf("got %v, want that the pull goes on", err)
	}

	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			// There is no Python in the image: it starts and ends at once.
			instance, err := backend.Start(t.Context(), sandbox.Spec{})
			if err != nil {
				return
			}
			defer instance.Close()
			go func() { _, _ = io.Copy(io.Discard, instance.Channel()) }()
			said, _ := io.ReadAll(instance.Output())
			status, err := instance.Wait()
			if err != nil || status.Code == 0 || !strings.Contains(string(said), "python3") {
				t.Errorf("got %+v, %v and %q from an image without Python", status, err, said)
			}
		})
	}
	close(registry.open)
	group.Wait()
	if n := registry.asked(); n == 0 || n > 2 { // a HEAD and a GET for one pull
		t.Errorf("the manifest was asked for %d times", n)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(reports) == 0 || !reports[len(reports)-1].Done || reports[len(reports)-1].Err != nil {
		t.Errorf("the last of %d reports does not say that the image is there", len(reports))
	}
}

func TestAlwaysPullingPullsOncePerProcess(t *testing.T) {
	registry := newRegistry(t)
	close(registry.open)
	backend := newBackend(t, func(c *docker.Config) { c.Image, c.Pull = registry.name(), docker.PullAlways })
	removeImage(t, registry.name())
	for range 2 {
		if instance, err := backend.Start(t.Context(), sandbox.Spec{}); err == nil {
			_ = instance.Close()
		}
	}
	if n := registry.asked(); n == 0 || n > 2 {
		t.Errorf("the manifest was asked for %d times", n)
	}
}

func TestAnImageRemovedWhileInUseIsLookedForAgain(t *testing.T) {
	base := dockertest.Require(t)
	client := docker.EngineClient(t)
	const tag = "ptc-mcp-test/removed:latest"
	if err := client.ImageTag(t.Context(), base, tag); err != nil {
		t.Fatal(err)
	}
	backend := newBackend(t, func(c *docker.Config) { c.Image = tag })
	runs(t, backend)
	if _, err := client.ImageRemove(t.Context(), tag, image.RemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	runs(t, backend) // by its id, which is there
}

// removeImage takes the image away when the test is over.
func removeImage(t *testing.T, name string) {
	t.Helper()
	client := docker.EngineClient(t)
	t.Cleanup(func() {
		if _, err := client.ImageRemove(context.Background(), name, image.RemoveOptions{Force: true}); err != nil {
			t.Errorf("remove the test's image: %v", err)
		}
	})
}
