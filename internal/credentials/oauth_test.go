package credentials

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func token(t *testing.T, o *OAuth) string {
	t.Helper()
	h, err := o.Header(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
}

func mustSignIn(t *testing.T, err error, says string) {
	t.Helper()
	var signIn *SignInError
	if !errors.As(err, &signIn) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "ptc-mcp login guarded") {
		t.Errorf("got %v, want a sign-in because %s", err, says)
	}
	if err != nil && (strings.Contains(err.Error(), "access-") || strings.Contains(err.Error(), "refresh-")) {
		t.Errorf("the error shows a token: %v", err)
	}
}

func TestManyCallsInManyProcessesRenewOnce(t *testing.T) {
	f := startFake(t)
	store := f.signedIn(t)
	var wg sync.WaitGroup
	for range 4 {
		o := f.oauth(t, NewStore(store.dir, nil))
		for range 20 {
			wg.Go(func() {
				if got := token(t, o); got != "access-1" {
					t.Errorf("sent with %s", got)
				}
			})
		}
	}
	wg.Wait()
	if n := f.tokens.Load(); n != 1 {
		t.Errorf("renewed %d times", n)
	}
}

func TestARenewalOutlivesTheCallThatAskedForIt(t *testing.T) {
	f := startFake(t)
	entered, release := make(chan struct{}), make(chan struct{})
	f.answers(func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-release
		f.answers(nil)
		f.grant(w, r)
	})
	o := f.oauth(t, f.signedIn(t))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-entered; cancel(); close(release) }()
	if _, err := o.Header(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	o.Close() // waits
	if got := token(t, o); got != "access-1" || f.tokens.Load() != 1 {
		t.Errorf("sent with %s, after %d renewals", got, f.tokens.Load())
	}
}

func TestARefusedRenewalIsNotTriedAgain(t *testing.T) {
	f := startFake(t)
	store := f.signedIn(t)
	var asked atomic.Int64
	f.answers(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.PostForm.Get("resource") != f.URL+"/mcp" || r.PostForm.Get("client_id") != "client-1" {
			t.Errorf("the form is %v", r.PostForm)
		}
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"invalid_grant","error_description":"expired"}`)
	})
	o := f.oauth(t, store)
	for range 3 {
		_, err := o.Header(t.Context())
		mustSignIn(t, err, "the sign-in cannot be renewed, refused: invalid_grant: expired")
	}
	_, err := f.oauth(t, NewStore(store.dir, nil)).Header(t.Context())
	mustSignIn(t, err, "cannot be renewed")
	if n := asked.Load(); n != 1 {
		t.Errorf("the authorization server was asked %d times", n)
	}
	account, err := o.Account(t.Context())
	if err != nil || account.SignedIn || account.Ended == "" || account.Issuer != f.URL {
		t.Errorf("account %+v, %v", account, err)
	}
}

func TestAnAuthorizationServerThatIsNotWellCostsNoSignIn(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"an error of its own": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, "<html>access-0")
		},
		"busy": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"error":"slow_down"}`)
		},
		"hanging":       func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"not JSON":      func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "refresh-0") },
		"without token": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"token_type":"bearer"}`) },
		"another type": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"access_token":"access-1","token_type":"DPoP"}`)
		},
		"a line break": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"access_token":"access-1\n","token_type":"bearer"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := startFake(t)
			o := f.oauth(t, f.signedIn(t))
			if name == "hanging" {
				o.web.Timeout = 50 * time.Millisecond
			}
			f.answers(answer)
			_, err := o.Header(t.Context())
			var signIn *SignInError
			if err == nil || errors.As(err, &signIn) || strings.Contains(err.Error(), "access-") || strings.Contains(err.Error(), "refresh-") {
				t.Errorf("got %v", err)
			}
			f.answers(nil)
			o.web.Timeout = exchangeTimeout
			if got := token(t, o); got != "access-1" {
				t.Errorf("then sent with %s", got)
			}
		})
	}
}

func refused(t *testing.T, o *OAuth, token string, status int, challenge string) (bool, error) {
	t.Helper()
	sent := http.Header{}
	if token != "" {
		sent.Set("Authorization", "Bearer "+token)
	}
	return o.Refused(t.Context(), sent, status, http.Header{"Www-Authenticate": {challenge}})
}

func TestARefusedTokenIsRenewedOnce(t *testing.T) {
	f := startFake(t)
	o := f.oauth(t, f.signedIn(t))
	first := token(t, o)
	if again, err := refused(t, o, first, 401, "Bearer"); !again || err != nil {
		t.Fatalf("got %t, %v", again, err)
	}
	second := token(t, o)
	if second == first {
		t.Error("the refused token is sent again")
	}
	// Somebody who was sent away with the first one has but to try again.
	if again, err := refused(t, o, first, 401, "Bearer"); !again || err != nil || token(t, o) != second {
		t.Errorf("got %t, %v", again, err)
	}
	again, err := refused(t, o, second, 401, `Bearer error="invalid_token", error_description="wrong audience"`)
	if again {
		t.Error("a third token is to be tried")
	}
	mustSignIn(t, err, "wrong audience")
	if n := f.tokens.Load(); n != 2 {
		t.Errorf("renewed %d times", n)
	}

	// Some authorization servers do not say when a token ends: the server does.
	if err := o.config.Store.update(t.Context(), func(c *content) error {
		g := c.grant("guarded", f.URL+"/mcp")
		g.Obtained, g.Expires = g.Obtained.Add(-time.Hour), time.Time{}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if again, err := refused(t, o, second, 401, "Bearer"); !again || err != nil || token(t, o) == second {
		t.Errorf("an hour later: %t, %v", again, err)
	}
}

func TestWithoutASignInARefusalAsksForOne(t *testing.T) {
	f := startFake(t)
	store := NewStore(t.TempDir(), nil)
	o := f.oauth(t, store)
	if h, err := o.Header(t.Context()); err != nil || len(h) != 0 {
		t.Errorf("got %v, %v", h, err)
	}
	again, err := refused(t, o, "", 401, "Bearer")
	if again {
		t.Error("the same is to be tried again")
	}
	mustSignIn(t, err, "wants to know who you are")
	if again, err := refused(t, o, "", 401, `Basic realm="x"`); again || err != nil {
		t.Errorf("a server that wants a password: %t, %v", again, err)
	}
	o.config.HasHeaders = true
	_, err = refused(t, o, "", 401, "Bearer")
	mustSignIn(t, err, "does not accept the headers of the configuration")
	if again, err := refused(t, o, "", 403, "Bearer"); again || err != nil {
		t.Errorf("a 403 that is not about scopes: %t, %v", again, err)
	}

	// Somebody signs in elsewhere: that is seen, and used.
	put := make(chan error)
	go func() {
		put <- store.update(context.Background(), func(c *content) error {
			c.put(grant{Server: "guarded", URL: f.URL + "/mcp", Issuer: f.URL, ClientID: "client-1", AccessToken: "access-9"})
			c.putClient(client{Issuer: f.URL, ID: "client-1"})
			return nil
		})
	}()
	if err := <-put; err != nil {
		t.Fatal(err)
	}
	o.Renewed(t.Context())
	if got := token(t, o); got != "access-9" {
		t.Errorf("sent with %q", got)
	}
}

func TestMissingScopesAreRemembered(t *testing.T) {
	f := startFake(t)
	store := f.signedIn(t)
	o := f.oauth(t, store)
	now := token(t, o)
	again, err := refused(t, o, now, 403, `Bearer error="insufficient_scope", scope="write admin"`)
	if again {
		t.Error("the same is to be tried again")
	}
	mustSignIn(t, err, "write admin")
	account, err := o.Account(t.Context())
	if err != nil || strings.Join(account.Missing, " ") != "write admin" || !account.SignedIn {
		t.Errorf("account %+v, %v", account, err)
	}
	if got := token(t, o); got != now {
		t.Error("the token for everything else is gone")
	}
}

func TestASignInWithAnotherClientDoesNotCount(t *testing.T) {
	f := startFake(t)
	store := f.signedIn(t)
	for name, config := range map[string]OAuthConfig{
		"client": {ClientID: "mine"},
		"issuer": {Issuer: "https://mine.example"},
	} {
		config.Server, config.URL, config.Store = "guarded", f.URL+"/mcp", store
		o := NewOAuth(config)
		_, err := o.Header(t.Context())
		mustSignIn(t, err, "another")
		o.Close()
		if f.tokens.Load() != 0 {
			t.Errorf("%s: the refresh token was sent all the same", name)
		}
	}
}

func TestOneCanSignInWithTheOldProtocol(t *testing.T) {
	f := startFake(t)
	store := NewStore(t.TempDir(), nil)
	o := f.oauth(t, store)
	browse := func(ctx context.Context, address string) error {
		asked, err := url.Parse(address)
		if err != nil {
			return err
		}
		if q := asked.Query(); q.Get("code_challenge_method") != "S256" || q.Get("resource") != f.URL+"/mcp" || len(q.Get("code_challenge")) != 43 {
			t.Errorf("the address is %s", address)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		resp, err := f.Client().Do(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	account, err := o.SignIn(t.Context(), Prompt{Show: browse})
	if err != nil {
		t.Fatal(err)
	}
	if !account.SignedIn || account.Issuer != f.URL || account.ClientID != "client-1" || !account.Renewable || token(t, o) != "access-1" {
		t.Errorf("account %+v", account)
	}
	if f.registered["application_type"] != "native" || f.registered["token_endpoint_auth_method"] != authNone {
		t.Errorf("registered as %v", f.registered)
	}
	// The client is registered once for an issuer.
	f.registered = nil
	if _, err := o.SignIn(t.Context(), Prompt{Show: browse}); err != nil || f.registered != nil {
		t.Errorf("the second time: %v, registered %v", err, f.registered)
	}
	if was, err := o.SignOut(t.Context()); !was || err != nil {
		t.Errorf("signing out: %t, %v", was, err)
	}
	if h, err := o.Header(t.Context()); err != nil || len(h) > 0 {
		t.Errorf("after that: %v, %v", h, err)
	}
}

func TestServersThatRegisterNobodySayWhatToDo(t *testing.T) {
	f := startFake(t)
	f.documents["/.well-known/oauth-authorization-server"] = fmt.Sprintf(strings.Replace(goodServer, "{", `{"client_id_metadata_document_supported":true,`, 1), f.URL)
	_, err := f.oauth(t, NewStore(t.TempDir(), nil)).SignIn(t.Context(), Prompt{})
	if err == nil || !strings.Contains(err.Error(), "set auth.client_id") || !strings.Contains(err.Error(), "metadata document") {
		t.Errorf("got %v", err)
	}
}

func TestACommandForTheTerminalIsQuotedWhereItMustBe(t *testing.T) {
	for name, want := range map[string]string{"tracker": "ptc-mcp login tracker", "my tracker": `ptc-mcp login "my tracker"`, "a.b_c-d": "ptc-mcp login a.b_c-d"} {
		if got := LoginCommand(name); got != want {
			t.Errorf("got %s", got)
		}
	}
}
