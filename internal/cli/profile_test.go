package cli

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestProfilesAreServedToLoopbackHostsOnly(t *testing.T) {
	server := httptest.NewServer(profileHandler())
	defer server.Close()
	for name, test := range map[string]struct {
		host, path string
		status     int
		contains   string
	}{
		"the address itself":             {"", "/debug/pprof/", http.StatusOK, "goroutine"},
		"localhost":                      {"localhost:1", "/debug/pprof/allocs?debug=1", http.StatusOK, "# TotalAlloc = "},
		"a page with a name of its own":  {"attacker.example:1", "/debug/pprof/", http.StatusForbidden, "loopback"},
		"a host without a port":          {"attacker.example", "/debug/pprof/", http.StatusForbidden, "loopback"},
		"what is served nowhere else":    {"", "/", http.StatusNotFound, ""},
		"the command line is not served": {"", "/debug/pprof/cmdline", http.StatusNotFound, ""},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+test.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Host = test.host
			response, err := server.Client().Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != test.status || !strings.Contains(string(body), test.contains) {
				t.Errorf("%s: %.200s", response.Status, body)
			}
		})
	}
}

func TestProfilesEndWithTheCommand(t *testing.T) {
	var log strings.Builder
	p := profiles{address: "127.0.0.1:0"}
	stop, err := p.start(slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	_, url, found := strings.Cut(strings.TrimSpace(log.String()), "url=")
	if !found {
		t.Fatalf("logged %q", log.String())
	}
	client := http.Client{Timeout: 10 * time.Second}
	get := func() error {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}
	if err := get(); err != nil {
		t.Errorf("while the command runs: %v", err)
	}
	stop()
	if err := get(); err == nil {
		t.Error("still served when the command has ended")
	}
}
