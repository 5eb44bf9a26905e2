package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// options are those of test/servers/authorization-server.
type options map[string]any

// startAuthorizationServer starts a real authorization server, and returns its
// issuer.
func startAuthorizationServer(t *testing.T, o options) string {
	t.Helper()
	modules := filepath.Join(repository, "test/npm/node_modules")
	asked, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", filepath.Join(repository, "test/servers/authorization-server/main.mjs"), modules, string(asked))
	stderr := &syncBuffer{}
	cmd.Stderr = stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); _ = cmd.Wait() })
	kill := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the authorization server did not start (make setup installs what it needs): %v\n%s", err, stderr)
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return strings.TrimSpace(line)
}

// protected is the test server behind a gate: it wants tokens that its
// authorization server calls good, and made out for it.
type protected struct {
	t      *testing.T
	url    string // of the MCP endpoint
	issuer string
	inner  string // the test server itself
	// missing has the scope that a tool wants, by the tool's name.
	missing map[string]string
	// metadata answers requests for well-known documents; nil is the right one.
	metadata http.HandlerFunc
	// silent leaves the challenge without a word but the scheme.
	silent bool

	mu       sync.Mutex
	requests []string // Authorization of each request to the MCP endpoint
}

const metadataPath = "/.well-known/oauth-protected-resource/mcp"

// protect starts the test server and the gate before it.
func protect(t *testing.T, issuer string) *protected {
	t.Helper()
	p := &protected{t: t, issuer: issuer}
	cmd := exec.Command(testServer, "-http", "127.0.0.1:0")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	inner, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	inner.Path = ""
	p.inner = inner.String()
	proxy := httputil.NewSingleHostReverseProxy(inner)
	proxy.FlushInterval = -1
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/.well-known/") {
			p.wellKnown(w, r)
			return
		}
		if p.admits(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() { gate.CloseClientConnections(); gate.Close() })
	p.url = gate.URL + "/mcp"
	return p
}

func (p *protected) wellKnown(w http.ResponseWriter, r *http.Request) {
	switch {
	case p.metadata != nil:
		p.metadata(w, r)
	case r.URL.Path != metadataPath:
		http.NotFound(w, r)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"resource":%q,"authorization_servers":[%q],"scopes_supported":["mcp:read"]}`, p.url, p.issuer)
	}
}

func (p *protected) admits(w http.ResponseWriter, r *http.Request) bool {
	p.mu.Lock()
	p.requests = append(p.requests, r.Header.Get("Authorization"))
	p.mu.Unlock()
	challenge := `Bearer resource_metadata="` + strings.TrimSuffix(p.url, "/mcp") + metadataPath + `", scope="mcp:read"`
	if p.silent {
		challenge = "Bearer"
	}
	token, given := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !given {
		w.Header().Set("WWW-Authenticate", challenge)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return false
	}
	active, audience, scope := p.introspect(token)
	if !active || audience != p.url {
		w.Header().Set("WWW-Authenticate", challenge+`, error="invalid_token", error_description="not good, or not for this server"`)
		http.Error(w, "not with that token", http.StatusUnauthorized)
		return false
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var request struct {
		Method string
		Params struct{ Name string }
	}
	_ = json.Unmarshal(body, &request)
	if wanted := p.missing[request.Params.Name]; request.Method == "tools/call" && wanted != "" && !strings.Contains(" "+scope+" ", " "+wanted+" ") {
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+wanted+`"`)
		http.Error(w, "not with these scopes", http.StatusForbidden)
		return false
	}
	return true
}

// introspect asks the authorization server about a token (RFC 7662).
func (p *protected) introspect(token string) (active bool, audience, scope string) {
	form := url.Values{"token": {token}}
	req, err := http.NewRequest(http.MethodPost, p.issuer+"/token/introspection", strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Error(err)
		return
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth("resource-server", "resource-server-secret")
	resp, err := (&http.Client{Timeout: patience}).Do(req)
	if err != nil {
		p.t.Error(err)
		return
	}
	defer resp.Body.Close()
	var answer struct {
		Active     bool
		Aud, Scope string
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		p.t.Errorf("introspection: %v", err)
	}
	return answer.Active, answer.Aud, answer.Scope
}

// tokens are the different tokens that came so far.
func (p *protected) tokens() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	seen := map[string]bool{"": true}
	for _, token := range p.requests {
		if !seen[token] {
			seen[token] = true
			all = append(all, strings.TrimPrefix(token, "Bearer "))
		}
	}
	return all
}

// userAgent is a browser, and the user before it.
type userAgent struct {
	t      *testing.T
	client *http.Client
}

func newUserAgent(t *testing.T) *userAgent {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &userAgent{t: t, client: &http.Client{Jar: jar, Timeout: patience, CheckRedirect: func(req *http.Request, _ []*http.Request) error {
		if req.URL.Path == "/callback" {
			return http.ErrUseLastResponse
		}
		return nil
	}}}
}

var (
	formAction  = regexp.MustCompile(`<form[^>]* action="([^"]*)"`)
	formHidden  = regexp.MustCompile(`<input[^>]* type="hidden"[^>]*>`)
	inputNamed  = regexp.MustCompile(` name="([^"]*)"`)
	inputValued = regexp.MustCompile(` value="([^"]*)"`)
)

// signIn goes from the address through the login and consent forms, and returns
// the address that the browser is sent to in the end.
func (u *userAgent) signIn(address string) *url.URL {
	u.t.Helper()
	resp, err := u.client.Get(address)
	for range 6 {
		if err != nil {
			u.t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if back, err := resp.Location(); err == nil {
			return back
		}
		action := formAction.FindSubmatch(body)
		if action == nil {
			u.t.Fatalf("the authorization server shows no form but status %d:\n%s", resp.StatusCode, body)
		}
		target, err2 := resp.Request.URL.Parse(html.UnescapeString(string(action[1])))
		if err2 != nil {
			u.t.Fatal(err2)
		}
		form := url.Values{"login": {"ada"}, "password": {"lovelace"}}
		for _, input := range formHidden.FindAll(body, -1) {
			name, value := inputNamed.FindSubmatch(input), inputValued.FindSubmatch(input)
			if name != nil && value != nil {
				form.Set(html.UnescapeString(string(name[1])), html.UnescapeString(string(value[1])))
			}
		}
		resp, err = u.client.PostForm(target.String(), form)
	}
	u.t.Fatal("the authorization server does not come to an end")
	return nil
}

// visit is what the browser does with the address it is sent to.
func (u *userAgent) visit(back *url.URL) (status int) {
	u.t.Helper()
	resp, err := u.client.Get(back.String())
	if err != nil {
		u.t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}
