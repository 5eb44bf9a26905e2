package credentials

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

const goodServer = `{"issuer":%q,"authorization_endpoint":"https://login.example/a","token_endpoint":"https://login.example/t","code_challenge_methods_supported":["S256"]}`

func TestMetadataIsLookedForInOrder(t *testing.T) {
	f := startFake(t)
	f.documents["/.well-known/oauth-protected-resource"] = fmt.Sprintf(`{"resource":%q,"authorization_servers":[%q],"scopes_supported":["a","b","a"]}`, f.URL, f.URL+"/tenant")
	f.documents["/tenant/.well-known/openid-configuration"] = fmt.Sprintf(goodServer, f.URL+"/tenant")
	got, err := discover(t.Context(), f.Client(), f.URL+"/deep/mcp", nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{
		"/.well-known/oauth-protected-resource/deep/mcp", "/.well-known/oauth-protected-resource",
		"/.well-known/oauth-authorization-server/tenant", "/.well-known/openid-configuration/tenant", "/tenant/.well-known/openid-configuration",
	}; !slices.Equal(f.asked, want) {
		t.Errorf("asked for %q", f.asked)
	}
	if got.resource != f.URL || !slices.Equal(got.scopes, []string{"a", "b"}) || got.server.Issuer != f.URL+"/tenant" {
		t.Errorf("found %+v", got)
	}
}

func TestTheChallengeSaysMoreThanTheMetadata(t *testing.T) {
	f := startFake(t)
	f.documents["/elsewhere"] = fmt.Sprintf(`{"resource":%q,"authorization_servers":[%q,%q],"scopes_supported":["a"]}`, f.URL+"/mcp", "https://first.example", f.URL)
	f.documents["/.well-known/oauth-authorization-server"] = fmt.Sprintf(goodServer, f.URL)
	got, err := discover(t.Context(), f.Client(), f.URL+"/mcp", map[string]string{"resource_metadata": f.URL + "/elsewhere", "scope": "c d"}, f.URL)
	if err != nil {
		t.Fatal(err)
	}
	if got.resource != f.URL+"/mcp" || !slices.Equal(got.scopes, []string{"c", "d"}) {
		t.Errorf("found %+v", got)
	}
}

func TestServersOfTheOldProtocolAreTheirOwnAuthorizationServers(t *testing.T) {
	f := startFake(t)
	got, err := discover(t.Context(), f.Client(), f.URL+"/mcp", nil, "")
	if err != nil || got.server.TokenEndpoint != f.URL+"/token" || got.server.RegistrationEndpoint != f.URL+"/register" || got.resource != f.URL+"/mcp" {
		t.Errorf("without metadata: %+v, %v", got, err)
	}
	f.documents["/.well-known/oauth-authorization-server"] = fmt.Sprintf(goodServer, f.URL+"/")
	got, err = discover(t.Context(), f.Client(), f.URL+"/mcp", nil, "")
	if err != nil || got.server.TokenEndpoint != "https://login.example/t" {
		t.Errorf("with metadata: %+v, %v", got, err)
	}
}

func TestMetadataThatMustNotBeUsedIsRefused(t *testing.T) {
	const resource, server = "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another host was asked") }))
	t.Cleanup(other.Close)
	for name, test := range map[string]struct {
		resource, server string
		challenge        string
		issuer           string
		says             string
	}{
		"for another host":          {resource: `{"resource":"https://other.example/mcp","authorization_servers":["SELF"]}`, says: "is for another resource"},
		"for a sibling":             {resource: `{"resource":"SELF/mc","authorization_servers":["SELF"]}`, says: "is for another resource"},
		"no authorization server":   {resource: `{"resource":"SELF/mcp"}`, says: "names no authorization server"},
		"not JSON":                  {resource: `<html>`, says: "not the JSON that is expected"},
		"too large":                 {resource: `{"x":"` + strings.Repeat("x", maxDocument) + `"}`, says: "is larger than"},
		"an issuer in the open":     {resource: `{"resource":"SELF/mcp","authorization_servers":["http://login.example"]}`, says: "http is for this machine only"},
		"a file as an issuer":       {resource: `{"resource":"SELF/mcp","authorization_servers":["file:///etc/passwd"]}`, says: "not an https address"},
		"another issuer":            {resource: `{"resource":"SELF/mcp","authorization_servers":["SELF"]}`, server: fmt.Sprintf(goodServer, "https://evil.example"), says: "names another issuer"},
		"a slash more":              {resource: `{"resource":"SELF/mcp","authorization_servers":["SELF"]}`, server: fmt.Sprintf(goodServer, "SELF/"), says: "names another issuer"},
		"no metadata at all":        {resource: `{"resource":"SELF/mcp","authorization_servers":["SELF"]}`, says: "no metadata at any well-known place"},
		"no endpoints":              {resource: `{"resource":"SELF/mcp","authorization_servers":["SELF"]}`, server: `{"issuer":"SELF","code_challenge_methods_supported":["S256"]}`, says: "is not an https address"},
		"plain PKCE":                {resource: `{"resource":"SELF/mcp","authorization_servers":["SELF"]}`, server: strings.Replace(fmt.Sprintf(goodServer, "SELF"), "S256", "plain", 1), says: "does not offer PKCE with S256"},
		"a place that is not there": {challenge: "SELF/nowhere", says: "not there"},
		"a place in the open":       {challenge: "http://metadata.example/", says: "http is for this machine only"},
		"not the configured issuer": {resource: `{"resource":"SELF/mcp","authorization_servers":["SELF"]}`, issuer: "https://mine.example", says: "auth.issuer"},
	} {
		t.Run(name, func(t *testing.T) {
			f := startFake(t)
			self := func(text string) string { return strings.ReplaceAll(text, "SELF", f.URL) }
			if test.resource != "" {
				f.documents[resource] = self(test.resource)
			}
			if test.server != "" {
				f.documents[server] = self(test.server)
			}
			challenge := map[string]string{}
			if test.challenge != "" {
				challenge["resource_metadata"] = self(test.challenge)
			}
			_, err := discover(t.Context(), newHTTPClient(nil), f.URL+"/mcp", challenge, test.issuer)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want %q", err, test.says)
			}
			if err != nil && len(err.Error()) > 1000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
	t.Run("a redirect to another host", func(t *testing.T) {
		f := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusFound))
		t.Cleanup(f.Close)
		if _, err := discover(t.Context(), newHTTPClient(nil), f.URL+"/mcp", nil, ""); err == nil {
			t.Error("accepted")
		}
	})
}

func TestPlainHTTPIsForThisMachine(t *testing.T) {
	for address, good := range map[string]bool{
		"https://a.example/mcp": true, "http://127.0.0.1:8000/mcp": true, "http://localhost/mcp": true, "http://[::1]/mcp": true,
		"http://a.example/mcp": false, "http://10.0.0.1/mcp": false, "http://localhost.example/": false,
		"https://user:password@a.example/": false, "https://a.example/#x": false, "ftp://a.example/": false, "": false, "%": false,
	} {
		if err := checkURL("the url", address); (err == nil) != good {
			t.Errorf("%q: %v", address, err)
		}
	}
}
