package credentials

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestOnlyTheAnswerToThisSignInIsTaken(t *testing.T) {
	c, err := listen(t.Context(), 0, "right")
	if err != nil {
		t.Fatal(err)
	}
	go c.serve()
	defer c.close()
	web := &http.Client{}
	defer web.CloseIdleConnections()
	base := strings.TrimSuffix(c.redirectURI(), callbackPath)
	visit := func(method, path string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.Header.Get("Cache-Control") != "no-store" || resp.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("the page has the header %v", resp.Header)
		}
		return resp.StatusCode
	}
	for _, path := range []string{"/", "/callback", "/callback?code=x&state=wrong", "/callback?code=x", "/other?code=x&state=right"} {
		if status := visit(http.MethodGet, path); status != http.StatusBadRequest {
			t.Errorf("%s got %d", path, status)
		}
	}
	if status := visit(http.MethodPost, "/callback?code=x&state=right"); status != http.StatusBadRequest {
		t.Errorf("a POST got %d", status)
	}
	if len(c.answers) > 0 {
		t.Fatal("something else was taken for the answer")
	}
	for range 2 { // the page may be loaded again
		if status := visit(http.MethodGet, "/callback?code=good&state=right"); status != http.StatusOK {
			t.Errorf("the answer got %d", status)
		}
	}
	if answer := <-c.answers; answer.Get("code") != "good" {
		t.Errorf("the answer is %v", answer)
	}
}

func TestAnAnswersIssuerIsCheckedBeforeAnythingElse(t *testing.T) {
	const issuer = "https://login.example"
	for name, test := range map[string]struct {
		answer   string
		promised bool
		code     string
		says     string
	}{
		"right":                         {"code=c&iss=https%3A%2F%2Flogin.example", true, "c", ""},
		"right, unpromised":             {"code=c&iss=https%3A%2F%2Flogin.example", false, "c", ""},
		"none, and none promised":       {"code=c", false, "c", ""},
		"none, though promised":         {"code=c", true, "", "does not say that it is from"},
		"empty":                         {"code=c&iss=", false, "", "another authorization server"},
		"another":                       {"code=c&iss=https%3A%2F%2Fevil.example", false, "", "another authorization server"},
		"the same but for a slash":      {"code=c&iss=https%3A%2F%2Flogin.example%2F", true, "", "another authorization server"},
		"the same but for the case":     {"code=c&iss=https%3A%2F%2FLOGIN.example", true, "", "another authorization server"},
		"an error":                      {"error=access_denied&error_description=no%0Away", false, "", "(access_denied: no way)"},
		"an error of somebody else":     {"error=call_us&iss=https%3A%2F%2Fevil.example", false, "", "another authorization server"},
		"neither a code nor an error":   {"x=y", false, "", "without a code"},
		"an error though iss is absent": {"error=call_us", true, "", "does not say that it is from"},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := url.ParseQuery(test.answer)
			if err != nil {
				t.Fatal(err)
			}
			code, err := codeOf(answer, issuer, test.promised)
			if code != test.code || (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %q, %v", code, err)
			}
			if err != nil && strings.Contains(err.Error(), "call_us") {
				t.Errorf("what another server said is shown: %v", err)
			}
		})
	}
}

func TestPastedLinesAreUnderstood(t *testing.T) {
	for name, test := range map[string]struct {
		line        string
		needsIssuer bool
		code        string
		says        string
	}{
		"the address":               {"  http://127.0.0.1:1/callback?code=c&state=right&iss=x#_ \r", true, "c", ""},
		"its query":                 {"code=c&state=right", true, "c", ""},
		"another sign-in's":         {"http://127.0.0.1:1/callback?code=c&state=wrong", true, "", "not an answer to this sign-in"},
		"an error":                  {"http://127.0.0.1:1/callback?error=x&state=right", true, "", ""},
		"the code":                  {"abc-def", false, "abc-def", ""},
		"the code, but iss is due":  {"abc-def", true, "", "paste the whole address"},
		"an address without a code": {"http://127.0.0.1:1/callback", false, "", "neither"},
		"a sentence":                {"what now", false, "", "neither"},
		"a broken address":          {"http://127.0.0.1:1/callback?code=%zz&state=right", false, "", "not an address"},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := pasted(test.line, "right", test.needsIssuer)
			if answer.Get("code") != test.code || (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, %v", answer, err)
			}
		})
	}
}
