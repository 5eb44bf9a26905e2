package integration

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// home is one user's: the configuration of a protected server, and what is kept
// of signing in to it.
type home struct {
	t      *testing.T
	config string
	env    []string
}

// newHome configures the server under the name "guarded"; more are further lines
// of its entry.
func newHome(t *testing.T, p *protected, more ...string) *home {
	t.Helper()
	entry := "servers:\n  - name: guarded\n    url: " + p.url + "\n"
	for _, line := range more {
		entry += "    " + line + "\n"
	}
	entry += "execution:\n  sandbox: native\n"
	h := &home{t: t, config: filepath.Join(t.TempDir(), "config.yaml")}
	if err := os.WriteFile(h.config, []byte(entry), 0o600); err != nil {
		t.Fatal(err)
	}
	h.env = []string{"XDG_STATE_HOME=" + t.TempDir(), "DBUS_SESSION_BUS_ADDRESS=", "XDG_RUNTIME_DIR=", "DISPLAY=", "WAYLAND_DISPLAY=", "BROWSER="}
	return h
}

func (h *home) kept() string {
	h.t.Helper()
	data, err := os.ReadFile(filepath.Join(strings.TrimPrefix(h.env[0], "XDG_STATE_HOME="), "ptc-mcp/credentials/credentials.json"))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(data)
}

// run runs a command of ptc-mcp to its end.
func (h *home) run(verb string, args ...string) (code int, output string) {
	h.t.Helper()
	cmd := exec.Command(ptcMCP, append([]string{verb, "--config", h.config}, args...)...)
	cmd.Env = append(os.Environ(), h.env...)
	out, _ := cmd.CombinedOutput()
	return cmd.ProcessState.ExitCode(), string(out)
}

// attempt is a login under way.
type attempt struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	output *syncBuffer
	ended  chan struct{}
}

func (h *home) login(args ...string) *attempt {
	h.t.Helper()
	a := &attempt{t: h.t, output: &syncBuffer{}, ended: make(chan struct{})}
	a.cmd = exec.Command(ptcMCP, append([]string{"login", "guarded", "--config", h.config, "--log-level", "debug"}, args...)...)
	a.cmd.Env = append(os.Environ(), h.env...)
	a.cmd.Stdout, a.cmd.Stderr = a.output, a.output
	var err error
	if a.stdin, err = a.cmd.StdinPipe(); err != nil {
		h.t.Fatal(err)
	}
	if err := a.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() { _ = a.cmd.Wait(); close(a.ended) }()
	h.t.Cleanup(func() { a.stdin.Close(); _ = a.cmd.Process.Kill() })
	return a
}

var shownAddress = regexp.MustCompile(`(?m)^http\S+$`)

// address is where the user is asked to go.
func (a *attempt) address() string {
	a.t.Helper()
	found := ""
	eventually(a.t, "the address is shown, or the login has ended", func() bool {
		found = shownAddress.FindString(a.output.String())
		select {
		case <-a.ended:
			return true
		default:
			return found != "" && strings.Contains(a.output.String(), found+"\n")
		}
	})
	if found == "" {
		a.t.Fatalf("login ended without an address:\n%s", a.output)
	}
	return found
}

// end waits for the login to end with the code, and returns what it wrote.
func (a *attempt) end(code int, says ...string) string {
	a.t.Helper()
	select {
	case <-a.ended:
	case <-time.After(patience):
		a.t.Fatalf("login does not end:\n%s", a.output)
	}
	out := a.output.String()
	if got := a.cmd.ProcessState.ExitCode(); got != code {
		a.t.Errorf("login ended with %d, want %d:\n%s", got, code, out)
	}
	for _, text := range says {
		if !strings.Contains(out, text) {
			a.t.Errorf("login does not say %q:\n%s", text, out)
		}
	}
	return out
}

// signIn goes the whole way.
func (h *home) signIn() {
	h.t.Helper()
	a := h.login("--no-browser")
	u := newUserAgent(h.t)
	u.visit(u.signIn(a.address()))
	a.end(0, "signed in to guarded", "the server has ")
}

func TestSigningInOnceServesEveryCommand(t *testing.T) {
	p := protect(t, startAuthorizationServer(t, nil))
	h := newHome(t, p)

	c := serve(t, readFile(t, h.config), h.env...)
	eventually(t, "the server is down because nobody has signed in", func() bool {
		list := c.callTool("list_callable_tools", nil)
		return len(list.Text) == 2 && strings.Contains(list.Text[1], "sign in with: ptc-mcp login guarded")
	})
	code, out := h.run("doctor")
	if code != 4 || !strings.Contains(out, "sign in with: ptc-mcp login guarded") {
		t.Errorf("doctor ended with %d:\n%s", code, out)
	}

	a := h.login("--no-browser")
	address, err := url.Parse(a.address())
	if err != nil {
		t.Fatal(err)
	}
	asked := address.Query()
	for name, want := range map[string]string{
		"response_type": "code", "code_challenge_method": "S256", "resource": p.url,
		// What the server wants, and what the authorization server wants for a refresh token.
		"scope": "mcp:read offline_access",
	} {
		if asked.Get(name) != want {
			t.Errorf("the authorization request has %s=%q, want %q", name, asked.Get(name), want)
		}
	}
	u := newUserAgent(t)
	back := u.signIn(address.String())
	if back.Query().Get("iss") != p.issuer {
		t.Errorf("the answer is %s", back)
	}
	wrong := *back
	query := back.Query()
	query.Set("state", "guessed")
	wrong.RawQuery = query.Encode()
	if status := u.visit(&wrong); status != http.StatusBadRequest {
		t.Errorf("an answer with another state got %d", status)
	}
	if status := u.visit(back); status != http.StatusOK {
		t.Errorf("the browser got %d", status)
	}
	said := a.end(0, "signed in to guarded at "+p.issuer)

	// The server that was running goes on with it by itself.
	eventually(t, "the running server has connected", func() bool {
		return strings.Contains(c.callTool("list_callable_tools", nil).Text[0], "mcp__guarded__")
	})
	if got := c.output("print(await mcp__guarded__increment())"); !strings.Contains(got, "1") {
		t.Errorf("the program printed %s", got)
	}

	code, out = h.run("doctor")
	if code != 0 || !strings.Contains(out, "signed in at "+p.issuer) {
		t.Errorf("doctor ended with %d:\n%s", code, out)
	}
	code, out = h.run("doctor", "--json")
	if code != 0 || !strings.Contains(out, `"issuer": "`+p.issuer+`"`) || !strings.Contains(out, `"expires": "`) {
		t.Errorf("doctor --json ended with %d:\n%s", code, out)
	}

	// Tokens are where they belong, and nowhere else.
	for _, token := range p.tokens() {
		if !strings.Contains(h.kept(), token) {
			t.Errorf("the server saw a token that is not kept")
		}
		for name, text := range map[string]string{"login": said, "serve": c.stderr.String(), "doctor": out} {
			if strings.Contains(text, token) {
				t.Errorf("%s shows a token", name)
			}
		}
	}

	if code, out := h.run("logout", "guarded"); code != 0 || !strings.Contains(out, "signed out of guarded") {
		t.Errorf("logout ended with %d:\n%s", code, out)
	}
	if active, _, _ := p.introspect(p.tokens()[len(p.tokens())-1]); active {
		t.Error("after the logout the token is still good")
	}
	if strings.Contains(h.kept(), p.tokens()[0]) {
		t.Error("after the logout the token is still kept")
	}
	if code, out := h.run("logout", "guarded"); code != 0 || !strings.Contains(out, "nobody had signed in") {
		t.Errorf("a second logout ended with %d:\n%s", code, out)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
