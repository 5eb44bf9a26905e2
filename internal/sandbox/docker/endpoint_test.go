package docker

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
)

// home is a made-up home folder and environment.
type home struct {
	t    *testing.T
	path string
	vars map[string]string
}

func newHome(t *testing.T) home {
	t.Helper()
	path, err := os.MkdirTemp("", "h") // short: a socket's path holds 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(path); err != nil {
			t.Error(err)
		}
	})
	return home{t, path, map[string]string{}}
}

func (h home) environment() environment {
	return environment{getenv: func(name string) string { return h.vars[name] }, home: h.path, goos: "linux"}
}

func (h home) file(path, text string) {
	h.t.Helper()
	path = filepath.Join(h.path, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h home) socket(path string) string {
	h.t.Helper()
	path = filepath.Join(h.path, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = listener.Close() })
	return "unix://" + path
}

// context writes a context as the docker command stores it.
func (h home) context(name, meta string, certificates bool) (folder string) {
	h.t.Helper()
	id := digest.FromString(name).Encoded()
	h.file(".docker/contexts/meta/"+id+"/meta.json", meta)
	if certificates {
		h.file(".docker/contexts/tls/"+id+"/docker/ca.pem", "")
	}
	return filepath.Join(h.path, ".docker/contexts/tls", id, "docker")
}

func TestTheHostIsFoundInTheOrderOfTheDockerCommand(t *testing.T) {
	h := newHome(t)
	h.file(".docker/config.json", `{"currentContext": "current"}`)
	h.context("current", `{"Endpoints": {"docker": {"Host": "unix:///current.sock"}}}`, false)
	h.context("named", `{"Endpoints": {"docker": {"Host": "ssh://me@named"}}}`, false)

	for _, c := range []struct {
		name, configured string
		vars             map[string]string
		want             string
	}{
		{"the configuration comes first", "tcp://configured:1", map[string]string{"DOCKER_HOST": "tcp://env:1"}, "tcp://configured:1"},
		{"then DOCKER_HOST", "", map[string]string{"DOCKER_HOST": "tcp://env:1", "DOCKER_CONTEXT": "named"}, "tcp://env:1"},
		{"then DOCKER_CONTEXT", "", map[string]string{"DOCKER_CONTEXT": "named"}, "ssh://me@named"},
		{"then the current context", "", nil, "unix:///current.sock"},
	} {
		h.vars = c.vars
		got, err := endpoints(c.configured, h.environment())
		if err != nil || len(got) != 1 || got[0].host != c.want {
			t.Errorf("%s: got %v, %v, want %s", c.name, got, err, c.want)
		}
	}
}

func TestTheUsualSocketsAreTriedInOrderWhenNothingIsSet(t *testing.T) {
	h := newHome(t)
	h.vars["XDG_RUNTIME_DIR"] = filepath.Join(h.path, "run")
	h.file(".colima/broken/docker.sock", "not a socket")
	want := []string{
		h.socket("run/docker.sock"),
		h.socket(".docker/run/docker.sock"),
		h.socket(".colima/a/docker.sock"),
		h.socket(".colima/default/docker.sock"),
		h.socket(".orbstack/run/docker.sock"),
		h.socket("run/podman/podman.sock"),
	}
	found, err := endpoints("", h.environment())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range found {
		if strings.HasPrefix(e.host, "unix://"+h.path) {
			got = append(got, e.host)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestTheDefaultContextMeansTheUsualSockets(t *testing.T) {
	h := newHome(t)
	h.vars["DOCKER_CONTEXT"] = "default"
	want := h.socket(".docker/run/docker.sock")
	got, err := endpoints("", h.environment())
	if err != nil || !slices.ContainsFunc(got, func(e endpoint) bool { return e.host == want }) {
		t.Errorf("got %v, %v, want %s among them", got, err, want)
	}
}

func TestTLSMaterial(t *testing.T) {
	h := newHome(t)
	contextFolder := h.context("remote", `{"Endpoints": {"docker": {"Host": "tcp://remote:2376", "SkipTLSVerify": true}}}`, true)
	for _, c := range []struct {
		name     string
		vars     map[string]string
		folder   string
		insecure bool
	}{
		{"a tcp host has none by itself", map[string]string{"DOCKER_HOST": "tcp://h:1"}, "", false},
		{"DOCKER_TLS_VERIFY takes the default folder", map[string]string{"DOCKER_HOST": "tcp://h:1", "DOCKER_TLS_VERIFY": "1"}, filepath.Join(h.path, ".docker"), false},
		{"DOCKER_CERT_PATH alone does not verify", map[string]string{"DOCKER_HOST": "tcp://h:1", "DOCKER_CERT_PATH": "/certs"}, "/certs", true},
		{"both verify", map[string]string{"DOCKER_HOST": "tcp://h:1", "DOCKER_CERT_PATH": "/certs", "DOCKER_TLS_VERIFY": "1"}, "/certs", false},
		{"a socket has none", map[string]string{"DOCKER_HOST": "unix:///s", "DOCKER_TLS_VERIFY": "1"}, "", false},
		{"a context has its own", map[string]string{"DOCKER_CONTEXT": "remote"}, contextFolder, true},
	} {
		h.vars = c.vars
		got, err := endpoints("", h.environment())
		if err != nil || len(got) != 1 || got[0].tls != c.folder || got[0].insecure != c.insecure {
			t.Errorf("%s: got %+v, %v, want folder %q, insecure %v", c.name, got, err, c.folder, c.insecure)
		}
	}
}

func TestBadSettingsAreNamed(t *testing.T) {
	for _, c := range []struct {
		name, config, host string
		vars               map[string]string
		says               string
	}{
		{"a host without a scheme", "", "localhost:2375", nil, "needs a scheme"},
		{"a context that is not there", "", "", map[string]string{"DOCKER_CONTEXT": "gone"}, `context "gone", named by DOCKER_CONTEXT: there is no such context`},
		{"a current context that is not there", `{"currentContext": "gone"}`, "", nil, "config.json"},
		{"a broken configuration", `{`, "", nil, "config.json"},
	} {
		h := newHome(t)
		h.vars = c.vars
		if c.config != "" {
			h.file(".docker/config.json", c.config)
		}
		if _, err := endpoints(c.host, h.environment()); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want an error that says %q", c.name, err, c.says)
		}
	}
}

func TestSSHArguments(t *testing.T) {
	for _, c := range []struct{ host, want string }{
		{"ssh://box", "-- box docker system dial-stdio"},
		{"ssh://me@box:2222", "-l me -p 2222 -- box docker system dial-stdio"},
		{"ssh://me@box/run/user/1000/docker.sock", "-l me -- box docker --host 'unix:///run/user/1000/docker.sock' system dial-stdio"},
		{"ssh://box/a'b", `-- box docker --host 'unix:///a'\''b' system dial-stdio`},
	} {
		got, err := sshArguments(c.host)
		if err != nil || !strings.HasSuffix(strings.Join(got, " "), "-T "+c.want) {
			t.Errorf("%s: got %v, %v, want … %s", c.host, got, err, c.want)
		}
	}
	for _, host := range []string{"ssh://", "ssh://me:secret@box", "ssh://box?x=1", "ssh://%zz"} {
		if got, err := sshArguments(host); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, %v, want an error without the password", host, got, err)
		}
	}
}
