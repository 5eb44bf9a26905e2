package integration

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestASignInIsRefusedWhenTheAuthorizationServerPlaysFalse(t *testing.T) {
	for name, test := range map[string]struct {
		options options
		// goes is true when the user gets as far as the browser.
		goes bool
		code int
		says string
	}{
		"an answer from another issuer": {
			options{"callbackMembers": options{"iss": "https://evil.example", "error_description": "call this number"}}, true,
			1, "the answer came from another authorization server, \"https://evil.example\"",
		},
		"an answer without the issuer that is promised": {
			options{"callbackMembers": options{"iss": nil}}, true,
			1, "does not say that it is from ",
		},
		"nobody is registered": {
			options{"registration": false}, false,
			1, "set auth.client_id",
		},
		"tokens for another server": {
			options{"audience": "https://other.example/mcp"}, true,
			4, "it refuses a token that was only just given: not good, or not for this server",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := protect(t, startAuthorizationServer(t, test.options))
			a := newHome(t, p).login("--no-browser")
			if test.goes {
				u := newUserAgent(t)
				u.visit(u.signIn(a.address()))
			}
			out := a.end(test.code, test.says)
			if strings.Contains(out, "call this number") {
				t.Errorf("login shows what came from another authorization server:\n%s", out)
			}
		})
	}
}

func TestAClientRegisteredByHandSignsIn(t *testing.T) {
	p := protect(t, startAuthorizationServer(t, options{"registration": false, "clients": []options{{
		"client_id": "by-hand", "client_secret": "s3cret by hand", "application_type": "native",
		"redirect_uris": []string{"http://127.0.0.1/callback"}, "grant_types": []string{"authorization_code", "refresh_token"},
	}}}))
	h := newHome(t, p, "auth: {client_id: by-hand, client_secret: '${BY_HAND}', scopes: ['mcp:read', 'mcp:write']}")
	h.env = append(h.env, "BY_HAND=s3cret by hand")
	h.signIn()
	code, out := h.run("doctor", "--json")
	if code != 0 || !strings.Contains(out, `"client_id": "by-hand"`) || !strings.Contains(out, `"mcp:write"`) {
		t.Errorf("doctor ended with %d:\n%s", code, out)
	}
	if strings.Contains(h.kept(), "s3cret") {
		t.Error("the secret of the configuration is kept in another place")
	}
}

func TestProcessesShareTheRenewalOfATokenThatIsGoodForOneUse(t *testing.T) {
	p := protect(t, startAuthorizationServer(t, options{"accessTokenSeconds": 4}))
	h := newHome(t, p)
	h.signIn()
	one, two := serve(t, readFile(t, h.config), h.env...), serve(t, readFile(t, h.config), h.env...)
	for _, c := range []*client{one, two} {
		eventually(t, "the server has connected", func() bool {
			return strings.Contains(c.callTool("list_callable_tools", nil).Text[0], "mcp__guarded__")
		})
	}
	const program = `
import asyncio
print(await asyncio.gather(*(mcp__guarded__echo(message=str(i)) for i in range(4))))`
	before := len(p.tokens())
	eventually(t, "several tokens have come and gone", func() bool {
		for _, c := range []*client{one, two} {
			if got := c.output(program); !strings.Contains(got, "[0, 1, 2, 3]") {
				t.Fatalf("the program printed %s", got)
			}
		}
		return len(p.tokens()) >= before+3
	})
}

func TestARevokedSignInAsksForANewOne(t *testing.T) {
	p := protect(t, startAuthorizationServer(t, nil))
	h := newHome(t, p)
	h.signIn()
	c := serve(t, readFile(t, h.config), h.env...)
	connected := func() bool {
		return strings.Contains(c.callTool("list_callable_tools", nil).Text[0], "mcp__guarded__")
	}
	eventually(t, "the server has connected", connected)

	var kept struct {
		Open struct {
			Grants []struct {
				ClientID     string `json:"client_id"`
				RefreshToken string `json:"refresh_token"`
			}
		}
	}
	if err := json.Unmarshal([]byte(h.kept()), &kept); err != nil || len(kept.Open.Grants) != 1 {
		t.Fatalf("what is kept: %v", err)
	}
	grant := kept.Open.Grants[0]
	resp, err := (&http.Client{Timeout: patience}).PostForm(p.issuer+"/token/revocation", url.Values{"token": {grant.RefreshToken}, "client_id": {grant.ClientID}})
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(err, resp)
	}
	resp.Body.Close()

	c.execute("print(await mcp__guarded__counter())") // finds out
	eventually(t, "the server is down and says what to do", func() bool {
		list := c.callTool("list_callable_tools", nil)
		return len(list.Text) == 2 && strings.Contains(list.Text[1], "sign in with: ptc-mcp login guarded (the sign-in cannot be renewed")
	})
	if code, out := h.run("doctor"); code != 4 || !strings.Contains(out, "ptc-mcp login guarded") {
		t.Errorf("doctor ended with %d:\n%s", code, out)
	}
	h.signIn()
	eventually(t, "the running server has connected again", connected)
}

func TestMissingScopesAreAskedForAtTheNextSignIn(t *testing.T) {
	p := protect(t, startAuthorizationServer(t, nil))
	p.missing = map[string]string{"increment": "mcp:write"}
	h := newHome(t, p)
	h.signIn()
	c := serve(t, readFile(t, h.config), h.env...)
	eventually(t, "the server has connected", func() bool {
		return strings.Contains(c.callTool("list_callable_tools", nil).Text[0], "mcp__guarded__")
	})
	const program = `
print(await mcp__guarded__echo(message="read"))
try:
    print(await mcp__guarded__increment())
except ToolError as e:
    print(e)`
	if got := c.output(program); !strings.Contains(got, "needs the scopes mcp:write") || !strings.Contains(got, "ptc-mcp login guarded") {
		t.Errorf("the program printed %s", got)
	}
	if code, out := h.run("doctor"); code != 0 || !strings.Contains(out, "it has asked for the scopes mcp:write") {
		t.Errorf("doctor ended with %d:\n%s", code, out)
	}
	a := h.login("--no-browser")
	address, err := url.Parse(a.address())
	if err != nil {
		t.Fatal(err)
	}
	if got := address.Query().Get("scope"); got != "mcp:read mcp:write offline_access" {
		t.Errorf("the scopes %q are asked for", got)
	}
	u := newUserAgent(t)
	u.visit(u.signIn(address.String()))
	a.end(0, "signed in")
	if got := c.output(program); strings.Contains(got, "login") {
		t.Errorf("after the second sign-in the program printed %s", got)
	}
}

func TestTheAddressCanBePastedAndTheBrowserIsTheUsersOwn(t *testing.T) {
	p := protect(t, startAuthorizationServer(t, nil))
	h := newHome(t, p)
	a := h.login("--no-browser")
	back := newUserAgent(t).signIn(a.address())
	for _, line := range []string{"what?!", "abcdef", back.String() + "&state=other&", strings.Replace(back.String(), "state=", "state=x", 1), "", back.String()} {
		if _, err := a.stdin.Write([]byte(line + "\n")); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(line, "&") { // the first of two states counts
			break
		}
	}
	a.end(0, "signed in to guarded", "paste the whole address")

	// $BROWSER gets the address.
	folder := t.TempDir()
	opened := filepath.Join(folder, "address")
	script := filepath.Join(folder, "browser")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nprintf '%s' \"$1\" > "+opened+".new && mv "+opened+".new "+opened+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.env = append(h.env, "BROWSER="+script)
	a = h.login()
	eventually(t, "the browser was opened", func() bool { _, err := os.Stat(opened); return err == nil })
	u := newUserAgent(t)
	u.visit(u.signIn(readFile(t, opened)))
	a.end(0, "The browser should open", "signed in to guarded")
}

func TestALoginThatNobodyAnswersEnds(t *testing.T) {
	p := protect(t, startAuthorizationServer(t, nil))
	began := time.Now()
	a := newHome(t, p).login("--no-browser", "--timeout", "1")
	a.end(1, "nobody came back from the browser in time")
	if took := time.Since(began); took > patience {
		t.Errorf("it took %s", took)
	}
}
