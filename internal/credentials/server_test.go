package credentials

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// fakeServer is an MCP server's host that is its own authorization server, for
// what a real one does not do. The real one is in test/integration.
type fakeServer struct {
	*httptest.Server
	// documents are answered with their text, or 404 where there is none.
	documents map[string]string

	mu         sync.Mutex
	token      func(w http.ResponseWriter, r *http.Request) // see answers
	asked      []string                                     // paths of documents
	registered map[string]any
	refresh    string // the only good refresh token
	tokens     atomic.Int64
	lifetime   int // of tokens, in seconds; 0 says nothing
}

func startFake(t *testing.T) *fakeServer {
	f := &fakeServer{documents: map[string]string{}, lifetime: 3600}
	f.Server = httptest.NewServer(f)
	t.Cleanup(func() { f.CloseClientConnections(); f.Close() })
	return f
}

func (f *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/register":
		f.mu.Lock()
		defer f.mu.Unlock()
		_ = json.NewDecoder(r.Body).Decode(&f.registered)
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"client_id":"client-1"}`)
	case "/authorize": // a user who is quick
		q := r.URL.Query()
		http.Redirect(w, r, q.Get("redirect_uri")+"?code=code-1&state="+url.QueryEscape(q.Get("state")), http.StatusFound)
	case "/token":
		_ = r.ParseForm()
		f.mu.Lock()
		token := f.token
		f.mu.Unlock()
		if token == nil {
			token = f.grant
		}
		token(w, r)
	default:
		f.mu.Lock()
		f.asked = append(f.asked, r.URL.Path)
		document, ok := f.documents[r.URL.Path]
		f.mu.Unlock()
		if !ok {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, document)
	}
}

// answers has requests to /token answered by another function; nil gives out
// tokens that rotate.
func (f *fakeServer) answers(token func(w http.ResponseWriter, r *http.Request)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.token = token
}

func (f *fakeServer) grant(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	form := r.PostForm
	if form.Get("grant_type") == "refresh_token" && form.Get("refresh_token") != f.refresh {
		f.refresh = "" // as servers do that see one used twice
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"invalid_grant","error_description":"used or unknown"}`)
		return
	}
	n := f.tokens.Add(1)
	f.refresh = fmt.Sprintf("refresh-%d", n)
	fmt.Fprintf(w, `{"access_token":"access-%d","token_type":"bearer","expires_in":%d,"refresh_token":%q}`, n, f.lifetime, f.refresh)
}

// signedIn is a store in which a user has signed in to the server, with a token
// that has expired.
func (f *fakeServer) signedIn(t *testing.T) *Store {
	t.Helper()
	store := NewStore(t.TempDir(), nil)
	f.refresh = "refresh-0"
	g := grant{
		Server: "guarded", URL: f.URL + "/mcp", Issuer: f.URL, Resource: f.URL + "/mcp", ClientID: "client-1", Method: authNone,
		TokenEndpoint: f.URL + "/token", AccessToken: "access-0", RefreshToken: "refresh-0",
		Obtained: time.Now().Add(-2 * time.Hour), Expires: time.Now().Add(-time.Hour), SignedIn: time.Now().Add(-2 * time.Hour),
	}
	if err := store.update(t.Context(), func(c *content) error {
		c.put(g)
		c.putClient(client{Issuer: f.URL, ID: "client-1", Method: authNone})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return store
}

func (f *fakeServer) oauth(t *testing.T, store *Store) *OAuth {
	o := NewOAuth(OAuthConfig{Server: "guarded", URL: f.URL + "/mcp", Store: store})
	t.Cleanup(func() { o.Close() })
	return o
}
