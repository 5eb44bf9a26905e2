package integration

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestAServerBehindTLSIsReachedOverHTTP2WithHeadersFromACommand(t *testing.T) {
	p := protect(t, "http://127.0.0.1:1") // its gate is not used
	inner, err := url.Parse(p.inner)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(inner)
	proxy.FlushInterval = -1
	var mu sync.Mutex
	protocols, good := map[string]int{}, "key-1"
	front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		protocols[r.Proto]++
		key := good
		mu.Unlock()
		if r.Header.Get("X-Key") != key || r.Header.Get("X-Static") != "yes" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	front.EnableHTTP2 = true
	front.StartTLS()
	t.Cleanup(front.Close)
	folder := t.TempDir()
	authority, key := filepath.Join(folder, "ca.pem"), filepath.Join(folder, "key")
	for path, data := range map[string][]byte{
		authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}),
		key:       []byte("X-Key: key-1\n"),
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.url = front.URL + "/mcp"
	h := newHome(t, p, "headers: {X-Static: 'yes'}", "headers_command: [cat, "+quote(key)+"]", "ca_file: "+quote(authority))
	c := serve(t, readFile(t, h.config), h.env...)
	eventually(t, "the server has connected", func() bool {
		return strings.Contains(c.callTool("list_callable_tools", nil).Text[0], "mcp__guarded__")
	})
	const program = "import asyncio\nprint(sum(len(m) for m in await asyncio.gather(*(mcp__guarded__echo(message='x') for _ in range(50)))))"
	if got := c.output(program); !strings.HasPrefix(got, "50\n") {
		t.Errorf("the program printed %s", got)
	}

	// The key is changed: the command is run again.
	if err := os.WriteFile(key, []byte(`{"X-Key": "key-2"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	good = "key-2"
	mu.Unlock()
	if got := c.output(program); !strings.HasPrefix(got, "50\n") {
		t.Errorf("with the new key the program printed %s", got)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(protocols) != 1 || protocols["HTTP/2.0"] < 100 {
		t.Errorf("requests by protocol: %v", protocols)
	}
	if log := c.stderr.String(); strings.Contains(log, "key-1") || strings.Contains(log, "key-2") {
		t.Errorf("the log shows a key:\n%s", log)
	}
}

func TestCallsThatWaitForTheirTurnDoNotRunOutOfTime(t *testing.T) {
	const calls, each, limit = 6, 0.8, 3
	config := on(t, "native").test("slow").limit("tool_call_timeout_seconds", limit)
	config.servers[0] += "    max_concurrent_calls: 1\n"
	c := serve(t, config.String())
	got := c.output(fmt.Sprintf(`
import asyncio, time
began = time.monotonic()
await asyncio.gather(*(mcp__slow__sleep(seconds=%v) for _ in range(%d)))
print(time.monotonic() - began >= %v)`, each, calls, calls*each-0.1))
	if !strings.HasPrefix(got, "True\n") {
		t.Errorf("the program printed %s", got)
	}
}
