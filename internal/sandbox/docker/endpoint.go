package docker

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
)

// endpoint is one place where an engine may listen.
type endpoint struct {
	// host is a URL: unix://, npipe://, tcp://, http(s):// or ssh://.
	host string
	// source says in words where the host was found, for errors.
	source string
	// tls is the folder with ca.pem, cert.pem and key.pem; empty for none.
	tls string
	// insecure accepts any server certificate.
	insecure bool
}

func (e endpoint) String() string { return e.host }

// environment is what discovery depends on, so that tests can give their own.
type environment struct {
	getenv func(string) string
	home   string
	goos   string
}

func hostEnvironment() environment {
	home, _ := os.UserHomeDir() // without one, nothing below it is found
	return environment{getenv: os.Getenv, home: home, goos: runtime.GOOS}
}

// endpoints returns where to look for the engine, in order, as the docker
// command does: the configured host, DOCKER_HOST, DOCKER_CONTEXT, the current
// context of the docker command's configuration. Only when none of them is
// set does it go through the usual sockets, and returns those that exist.
func endpoints(configured string, env environment) ([]endpoint, error) {
	if configured != "" {
		return explicit(configured, "docker.host in the configuration", env)
	}
	if host := env.getenv("DOCKER_HOST"); host != "" {
		return explicit(host, "DOCKER_HOST", env)
	}
	folder := cmp.Or(env.getenv("DOCKER_CONFIG"), filepath.Join(env.home, ".docker"))
	name, source := env.getenv("DOCKER_CONTEXT"), "DOCKER_CONTEXT"
	if name == "" {
		var err error
		if name, err = currentContext(folder); err != nil {
			return nil, err
		}
		source = filepath.Join(folder, "config.json")
	}
	if name != "" && name != "default" {
		found, err := readContext(folder, name)
		if err != nil {
			return nil, fmt.Errorf("docker: context %q, named by %s: %w", name, source, err)
		}
		found.source = fmt.Sprintf("docker context %q", name)
		return []endpoint{found}, nil
	}
	return candidates(env), nil
}

// explicit is the endpoint a user named, with TLS for tcp hosts as the
// environment says.
func explicit(host, source string, env environment) ([]endpoint, error) {
	if !strings.Contains(host, "://") {
		return nil, fmt.Errorf("docker: %s is %q: it needs a scheme, such as unix:///var/run/docker.sock, tcp://host:2376 or ssh://user@host", source, host)
	}
	found := endpoint{host: host, source: source}
	verify := env.getenv("DOCKER_TLS_VERIFY") != ""
	certificates := env.getenv("DOCKER_CERT_PATH")
	if strings.HasPrefix(host, "tcp://") && (verify || certificates != "" || env.getenv("DOCKER_TLS") != "") {
		found.tls = cmp.Or(certificates, env.getenv("DOCKER_CONFIG"), filepath.Join(env.home, ".docker"))
		found.insecure = !verify
	}
	return []endpoint{found}, nil
}

// candidates are the usual sockets that exist here.
func candidates(env environment) []endpoint {
	if env.goos == "windows" {
		return []endpoint{{host: "npipe:////./pipe/docker_engine", source: "the default pipe"}}
	}
	runtimeFolder := env.getenv("XDG_RUNTIME_DIR")
	var found []endpoint
	add := func(source string, paths ...string) {
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
				found = append(found, endpoint{host: "unix://" + path, source: source})
			}
		}
	}
	add("the default socket", "/var/run/docker.sock")
	if runtimeFolder != "" {
		add("rootless Docker", filepath.Join(runtimeFolder, "docker.sock"))
	}
	if env.home != "" {
		add("Docker Desktop", filepath.Join(env.home, ".docker/run/docker.sock"), filepath.Join(env.home, ".docker/desktop/docker.sock"))
		colima, _ := filepath.Glob(filepath.Join(env.home, ".colima/*/docker.sock")) // the pattern is valid
		slices.Sort(colima)
		add("Colima", colima...)
		add("OrbStack", filepath.Join(env.home, ".orbstack/run/docker.sock"))
	}
	if runtimeFolder != "" {
		add("rootless Podman", filepath.Join(runtimeFolder, "podman/podman.sock"))
	}
	add("Podman", "/run/podman/podman.sock")
	return found
}

// currentContext is what `docker context use` last chose, empty for none.
func currentContext(folder string) (string, error) {
	path := filepath.Join(folder, "config.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("docker: cannot read the docker command's configuration: %w", err)
	}
	var config struct {
		CurrentContext string `json:"currentContext"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return "", fmt.Errorf("docker: %s: %w", path, err)
	}
	return config.CurrentContext, nil
}

// readContext reads a context of the docker command: its folders are named by
// the SHA-256 of the context's name.
func readContext(folder, name string) (endpoint, error) {
	id := digest.FromString(name).Encoded()
	text, err := os.ReadFile(filepath.Join(folder, "contexts", "meta", id, "meta.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return endpoint{}, errors.New("there is no such context; see `docker context ls`")
	}
	if err != nil {
		return endpoint{}, err
	}
	var meta struct {
		Endpoints map[string]struct {
			Host          string
			SkipTLSVerify bool
		}
	}
	if err := json.Unmarshal(text, &meta); err != nil {
		return endpoint{}, err
	}
	docker, ok := meta.Endpoints["docker"]
	if !ok || docker.Host == "" {
		return endpoint{}, errors.New("it names no docker host")
	}
	found := endpoint{host: docker.Host, insecure: docker.SkipTLSVerify}
	certificates := filepath.Join(folder, "contexts", "tls", id, "docker")
	if info, err := os.Stat(certificates); err == nil && info.IsDir() {
		found.tls = certificates
	}
	return found, nil
}
