package credentials

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// callbackPath is where the browser comes back to.
const callbackPath = "/callback"

// callback waits, on this machine only, for the browser to come back from the
// authorization server.
type callback struct {
	listener net.Listener
	server   *http.Server
	state    string
	answers  chan url.Values // capacity 1
}

// listen opens the port; 0 is any free one.
func listen(ctx context.Context, port int, state string) (*callback, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("port %d for the browser to come back to: %w", port, err)
	}
	c := &callback{listener: listener, state: state, answers: make(chan url.Values, 1)}
	c.server = &http.Server{
		Handler: c, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	return c, nil
}

func (c *callback) redirectURI() string {
	return "http://" + c.listener.Addr().String() + callbackPath
}

func (c *callback) serve() { _ = c.server.Serve(c.listener) }

// close waits a moment for the browser to get its page.
func (c *callback) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if c.server.Shutdown(ctx) != nil {
		_ = c.server.Close()
	}
	_ = c.listener.Close()
}

// ServeHTTP takes the first answer with the right state. Whatever else finds
// the port, such as a page that guesses it, changes nothing.
func (c *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	query := r.URL.Query()
	if r.Method != http.MethodGet || r.URL.Path != callbackPath || !sameState(query.Get("state"), c.state) {
		http.Error(w, "This is not the answer that ptc-mcp waits for. Go on from the address that ptc-mcp login shows.", http.StatusBadRequest)
		return
	}
	select {
	case c.answers <- query:
	default: // the page was loaded again
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, "<!doctype html><meta charset=utf-8><title>ptc-mcp</title><p>ptc-mcp has your answer. You can close this page and go back to the terminal.")
}

func sameState(got, want string) bool {
	return subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1
}

// pasted reads what a user has copied from a browser that could not come back:
// its address, or only the code in it.
func pasted(line, state string, needsIssuer bool) (url.Values, error) {
	line = strings.TrimSpace(line)
	if strings.Contains(line, "code=") || strings.Contains(line, "error=") {
		query := line
		if _, after, found := strings.Cut(line, "?"); found {
			query = after
		}
		query, _, _ = strings.Cut(query, "#")
		values, err := url.ParseQuery(query)
		switch {
		case err != nil:
			return nil, errors.New("that is not an address; copy all of it from the browser")
		case !sameState(values.Get("state"), state):
			return nil, errors.New("that address is not an answer to this sign-in; copy the one that the browser shows now")
		}
		return values, nil
	}
	switch {
	case strings.ContainsFunc(line, func(r rune) bool { return r <= ' ' || r >= 0x7f }) || line == "" || strings.Contains(line, "://"):
		return nil, errors.New("that is neither an address with a code in it nor a code; copy the address from the browser")
	case needsIssuer:
		return nil, errors.New("paste the whole address, not only the code: it says which authorization server answered")
	}
	return url.Values{"code": {line}, "state": {state}}, nil
}

// codeOf checks an authorization response and returns its code. Before the
// issuer is known to be right, nothing else of the response counts (RFC 9207).
func codeOf(answer url.Values, issuer string, sendsIssuer bool) (string, error) {
	got, given := answer.Get("iss"), answer.Has("iss")
	switch {
	case given && got != issuer:
		return "", fmt.Errorf("the answer came from another authorization server, %q instead of %q; the sign-in was stopped", shown(got), shown(issuer))
	case !given && sendsIssuer:
		return "", fmt.Errorf("the answer does not say that it is from %s, which that authorization server promises; the sign-in was stopped", shown(issuer))
	case answer.Get("error") != "":
		text := shown(answer.Get("error"))
		if said := answer.Get("error_description"); said != "" {
			text += ": " + shown(said)
		}
		return "", fmt.Errorf("the authorization server did not sign you in (%s)", text)
	case answer.Get("code") == "":
		return "", errors.New("the authorization server answered without a code")
	}
	return answer.Get("code"), nil
}
