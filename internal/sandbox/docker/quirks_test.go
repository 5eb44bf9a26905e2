package docker_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/docker/dockertest"
)

// creation is the part of a request for a container that engines differ in.
type creation struct {
	HostConfig struct {
		SecurityOpt []string
		Tmpfs       map[string]string
		Init        bool
	}
}

// picky stands in front of the real engine and refuses to make containers as
// judge says. It answers with judge's text as an engine does.
func picky(t *testing.T, judge func(creation) string, change func(string) string) (host string, refusals func() []string) {
	return pickyAt(t, "create", judge, change)
}

// pickyAt refuses at a step: "create"; or "attach", and then at the start too,
// as Podman does, which prepares a container no sooner.
func pickyAt(t *testing.T, step string, judge func(creation) string, change func(string) string) (host string, refusals func() []string) {
	t.Helper()
	dockertest.Require(t)
	var mu sync.Mutex
	var said []string
	doomed := map[string]string{} // by the container's name
	refuse := func(w http.ResponseWriter, status int, refusal string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"message": refusal})
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", engineSocket())
	}}
	engine := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: "engine"}) },
		Transport: transport,
	}
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/containers/create") {
			body, _ := io.ReadAll(r.Body)
			var asked creation
			_ = json.Unmarshal(body, &asked)
			if refusal := judge(asked); refusal != "" {
				mu.Lock()
				said = append(said, refusal)
				doomed[r.URL.Query().Get("name")] = refusal
				mu.Unlock()
				if step == "create" {
					refuse(w, http.StatusInternalServerError, refusal)
					return
				}
			}
			text := string(body)
			if change != nil {
				text = change(text)
			}
			r.Body = io.NopCloser(strings.NewReader(text))
			r.ContentLength = int64(len(text))
			r.Header.Del("Content-Length")
		}
		action := path.Base(r.URL.Path)
		mu.Lock()
		refusal := doomed[path.Base(path.Dir(r.URL.Path))]
		mu.Unlock()
		if refusal != "" && (action == "attach" || action == "start") {
			refuse(w, http.StatusConflict, refusal)
			return
		}
		engine.ServeHTTP(w, r)
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close()
		transport.CloseIdleConnections()
	})
	return "unix://" + socket, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return said
	}
}

// profileOf returns what is given as the seccomp profile.
func profileOf(asked creation) string {
	for _, option := range asked.HostConfig.SecurityOpt {
		if profile, ok := strings.CutPrefix(option, "seccomp="); ok {
			return profile
		}
	}
	return ""
}

func warningsOf(t *testing.T, backend *docker.Backend) string {
	t.Helper()
	is, err := backend.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(is.Warnings, "\n")
}

func TestAnEngineThatTakesSettingsAsPodmanDoes(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", os.Getenv("XDG_CACHE_HOME"))
	host, refusals := picky(t, func(asked creation) string {
		profile := profileOf(asked)
		if _, err := os.ReadFile(profile); err != nil {
			return "container create: opening seccomp profile failed: " + err.Error()
		}
		if strings.Contains(asked.HostConfig.Tmpfs["/scratch"], "nr_inodes") {
			return `container create: unknown mount option "nr_inodes=4096": invalid mount option`
		}
		if asked.HostConfig.Init {
			return "container create: container-init binary not found on the host: stat /usr/libexec/podman/catatonit: no such file or directory"
		}
		return ""
	}, func(body string) string {
		// What Podman does itself: read the profile, and make the folder the
		// user's.
		var asked creation
		_ = json.Unmarshal([]byte(body), &asked)
		path := profileOf(asked)
		text, _ := os.ReadFile(path)
		before, _ := json.Marshal("seccomp=" + path)
		after, _ := json.Marshal("seccomp=" + string(text))
		body = strings.Replace(body, string(before), string(after), 1)
		body = strings.ReplaceAll(body, ",notmpcopyup", "")
		return strings.ReplaceAll(body, "mode=1777", "mode=1777,uid=65534")
	})
	backend := newBackend(t, func(c *docker.Config) { c.Host = host })
	got := run(t, backend, `
import socket
try:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)
    print("open")
except OSError as e:
    print(e.strerror)`)
	if got != "Operation not permitted\n" {
		t.Errorf("the profile is not in effect: %q", got)
	}
	if n := len(refusals()); n != 3 {
		t.Errorf("the engine refused %d times, want once for each of its ways: %q", n, refusals())
	}
	run(t, backend, "pass")
	if n := len(refusals()); n != 3 {
		t.Errorf("what was learnt was forgotten: %q", refusals()[3:])
	}
	if warnings := warningsOf(t, backend); !strings.Contains(warnings, "init program") || strings.Contains(warnings, "seccomp") {
		t.Errorf("got warnings %q", warnings)
	}
}

func TestAProfileThatTheEngineCannotReadIsLeftToItWithAWarning(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", os.Getenv("XDG_CACHE_HOME"))
	host, _ := picky(t, func(asked creation) string {
		if profileOf(asked) != "" {
			return "container create: opening seccomp profile failed: no such file or directory"
		}
		return ""
	}, nil)
	backend := newBackend(t, func(c *docker.Config) { c.Host = host })
	runs(t, backend)
	if warnings := warningsOf(t, backend); !strings.Contains(warnings, "uses its own") {
		t.Errorf("got warnings %q", warnings)
	}
}

func TestARefusalAtTheAttachTeachesToo(t *testing.T) {
	host, refusals := pickyAt(t, "attach", func(asked creation) string {
		if asked.HostConfig.Init {
			return "preparing container for attach: container-init binary not found on the host"
		}
		return ""
	}, nil)
	backend := newBackend(t, func(c *docker.Config) { c.Host = host })
	runs(t, backend)
	if n := len(refusals()); n != 1 {
		t.Errorf("the engine refused %d times, want once", n)
	}
	closeBackend(t, backend)
	if left := docker.Containers(t); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestStartsSideBySideLearnFromEachOther(t *testing.T) {
	const starts = 4
	var asked sync.WaitGroup // until as many as there are have asked in vain
	asked.Add(starts)
	host, _ := picky(t, func(c creation) string {
		if c.HostConfig.Init {
			asked.Done()
			asked.Wait()
			return "container-init binary not found on the host"
		}
		return ""
	}, nil)
	backend := newBackend(t, func(c *docker.Config) { c.Host = host })
	var group sync.WaitGroup
	for range starts {
		group.Go(func() {
			i, err := backend.Start(t.Context(), sandbox.Spec{})
			if err != nil {
				t.Error(err)
				return
			}
			_ = i.Close()
		})
	}
	group.Wait()
}

func TestARefusalThatTeachesNothingIsTheError(t *testing.T) {
	host, refusals := picky(t, func(creation) string { return "no space left on device" }, nil)
	backend := newBackend(t, func(c *docker.Config) { c.Host = host })
	_, err := backend.Start(t.Context(), sandbox.Spec{})
	if err == nil || !strings.Contains(err.Error(), "create container") || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("got %v", err)
	}
	if n := len(refusals()); n != 1 {
		t.Errorf("asked %d times", n)
	}
}
