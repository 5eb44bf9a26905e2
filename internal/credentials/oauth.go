package credentials

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
)

// OAuthConfig describes a remote server and how to sign in to it.
type OAuthConfig struct {
	// Server is its configured name, URL its address.
	Server, URL string
	// ClientID and ClientSecret are a client registered by hand; an empty
	// ClientID has one registered at the first sign-in.
	ClientID, ClientSecret string
	// Issuer is the authorization server; empty for the one the server names.
	Issuer string
	// Scopes are asked for; empty for those the server names.
	Scopes []string
	// RedirectPort is where the browser comes back to; 0 for any free port.
	RedirectPort int
	// RootCAs may vouch for the servers; nil means the system's.
	RootCAs *x509.CertPool
	// HasHeaders is true when requests carry configured headers as well, which
	// may be what the server does not accept.
	HasHeaders bool
	// Store keeps the sign-in.
	Store *Store
	// ClientVersion is ptc-mcp's own.
	ClientVersion string
	// Logger receives what happens, never a secret. Nil discards.
	Logger *slog.Logger
}

// OAuth is what one server's sign-in gives. Its methods may be called from any
// goroutine. It opens no browser but in SignIn.
type OAuth struct {
	config OAuthConfig
	web    *http.Client
	logger *slog.Logger

	current atomic.Pointer[held] // nil until the store was asked
	renewal singleflight.Group
	working sync.WaitGroup // renewals

	mu     sync.Mutex
	seen   time.Time // the stamp of the store when it was asked last
	forced string    // the token that came of renewing a refused one
}

// held is what requests are sent with.
type held struct {
	grant  grant
	client *client
	header http.Header // nil: nobody has signed in
}

// NewOAuth makes the sign-in of one server. It does nothing yet.
func NewOAuth(config OAuthConfig) *OAuth {
	logger := config.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &OAuth{config: config, web: newHTTPClient(config.RootCAs), logger: logger.With("server", config.Server)}
}

// Header returns the header of a request: none when nobody has signed in, else
// the access token, renewed if it is about to expire. Its error is a
// *SignInError, or says what keeps the token from being renewed for now.
func (o *OAuth) Header(ctx context.Context) (http.Header, error) {
	if h := o.current.Load(); h != nil && (h.header == nil || h.grant.fresh(time.Now())) {
		return h.header, nil
	}
	h, err := o.renew(ctx, "")
	if err != nil {
		return nil, err
	}
	return h.header, nil
}

// Refused is told that the server refused a request sent with the header, by
// its status and the header of its answer. again says that there is a better
// header now; otherwise err, unless it is nil, says what the user can do.
func (o *OAuth) Refused(ctx context.Context, sent http.Header, status int, answer http.Header) (again bool, err error) {
	challenge := bearerChallenge(answer)
	token := strings.TrimPrefix(sent.Get("Authorization"), "Bearer ")
	switch {
	case status == http.StatusUnauthorized && token == "" && challenge == nil && answer.Get("WWW-Authenticate") != "":
		return false, nil // it wants something else, which headers have to say
	case status == http.StatusUnauthorized:
		return o.unauthorized(ctx, token, challenge)
	case status == http.StatusForbidden && challenge["error"] == "insufficient_scope":
		return o.insufficient(ctx, token, challenge)
	}
	return false, nil
}

func (o *OAuth) unauthorized(ctx context.Context, token string, challenge map[string]string) (again bool, err error) {
	h, err := o.renew(ctx, token)
	if err != nil {
		return false, err
	}
	now := bearerOf(h)
	if now != "" && now != token {
		return true, nil
	}
	switch {
	case token == "" && o.config.HasHeaders:
		return false, o.signIn("it does not accept the headers of the configuration; if signing in is not meant, check them")
	case token == "":
		return false, o.signIn("it wants to know who you are")
	}
	reason := "it refuses a token that was only just given"
	if said := challenge["error_description"]; said != "" {
		reason += ": " + shown(said)
	}
	return false, o.signIn(reason)
}

func bearerOf(h *held) string { return strings.TrimPrefix(h.header.Get("Authorization"), "Bearer ") }

// insufficient notes the scopes that were missed, for the next sign-in.
func (o *OAuth) insufficient(ctx context.Context, token string, challenge map[string]string) (again bool, err error) {
	h, err := o.reload(ctx)
	if err != nil {
		return false, err
	}
	if now := bearerOf(h); now != "" && now != token {
		return true, nil
	}
	missed := scopesOf(challenge["scope"])
	if h.header == nil || len(missed) == 0 {
		return false, nil
	}
	err = o.config.Store.update(ctx, func(c *content) error {
		if g := c.grant(o.config.Server, o.config.URL); g != nil {
			g.Wanted = union(g.Wanted, missed)
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	return false, o.signIn("this needs the scopes " + shown(strings.Join(missed, " ")) + ", which you have not been given")
}

func (o *OAuth) signIn(reason string) error {
	return &SignInError{Server: o.config.Server, Reason: reason}
}

// Renewed returns when what is kept has changed, which may help after an error,
// or ctx has ended.
func (o *OAuth) Renewed(ctx context.Context) {
	const look = time.Second
	o.mu.Lock()
	before := o.seen
	o.mu.Unlock()
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if now := o.config.Store.stamp(); !now.Equal(before) {
				o.current.Store(nil)
				return
			}
		}
	}
}

// Close waits until a renewal under way has ended: its answer may replace the
// only token there is.
func (o *OAuth) Close() error {
	o.working.Wait()
	o.web.CloseIdleConnections()
	return nil
}

// renew returns what is to be sent from now on, anything but the refused token.
// However many ask, one of them works, and goes on when they have all left: a
// refresh token may be good for one use, so its answer must not be lost.
func (o *OAuth) renew(ctx context.Context, refused string) (*held, error) {
	type result struct {
		h   *held
		err error
	}
	done := make(chan result, 1)
	o.working.Go(func() {
		h, err, _ := o.renewal.Do(refused, func() (any, error) {
			working, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*exchangeTimeout)
			defer cancel()
			return o.renewNow(working, refused)
		})
		renewed, _ := h.(*held)
		done <- result{renewed, err}
	})
	select {
	case r := <-done:
		return r.h, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// reload takes over what is kept.
func (o *OAuth) reload(ctx context.Context) (*held, error) {
	o.mu.Lock()
	o.seen = o.config.Store.stamp()
	o.mu.Unlock()
	g, us, err := o.config.Store.find(ctx, o.config.Server, o.config.URL)
	if err != nil {
		return nil, err
	}
	h := &held{}
	if g != nil {
		if o.config.Issuer != "" && o.config.Issuer != g.Issuer {
			return nil, o.signIn("the sign-in was made with another auth.issuer")
		}
		h.grant, h.client = *g, us
		h.header = http.Header{"Authorization": {"Bearer " + g.AccessToken}}
		if o.config.ClientID != "" {
			h.client = &client{Issuer: g.Issuer, ID: o.config.ClientID, Secret: o.config.ClientSecret, Method: g.Method}
		}
		if h.client == nil || h.client.ID != g.ClientID {
			return nil, o.signIn("the sign-in was made as another client")
		}
	}
	o.current.Store(h)
	return h, nil
}

func (o *OAuth) renewNow(ctx context.Context, refused string) (*held, error) {
	usable := func(h *held) bool {
		return h.header == nil || h.grant.Ended == "" && h.grant.fresh(time.Now()) && h.grant.AccessToken != refused
	}
	h, err := o.reload(ctx)
	if err != nil || usable(h) {
		return h, err
	}
	// Another process may be renewing the same token: it would be refused to
	// the second that tries.
	unlock, err := o.config.Store.lockGrant(ctx, o.config.Server, o.config.URL)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if h, err = o.reload(ctx); err != nil || usable(h) {
		return h, err
	}
	g := h.grant
	switch {
	case g.Ended != "":
		return nil, o.signIn(g.Ended)
	case g.RefreshToken == "":
		return nil, o.signIn("the sign-in has expired")
	case refused != "" && refused == o.forcedToken() && time.Since(g.Obtained) < justGiven:
		return h, nil // the server will not take the next one either
	}
	h, err = o.refreshNow(ctx, h)
	if err == nil && refused != "" {
		o.mu.Lock()
		o.forced = h.grant.AccessToken
		o.mu.Unlock()
	}
	return h, err
}

// justGiven is how long after a refused token was renewed another refusal means
// that renewing does not help.
const justGiven = 10 * time.Second

func (o *OAuth) forcedToken() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.forced
}

// refreshNow uses the refresh token. It is called with the server's lock held.
func (o *OAuth) refreshNow(ctx context.Context, h *held) (*held, error) {
	g := h.grant
	token, err := refresh(ctx, o.web, h.client, g.TokenEndpoint, g.RefreshToken, g.Resource)
	if err != nil && !errors.Is(err, errRefused) {
		return nil, fmt.Errorf("renewing the sign-in at %s: %w", shown(g.Issuer), err)
	}
	if err != nil {
		g.Ended = "the sign-in cannot be renewed, " + err.Error()
		g.AccessToken, g.RefreshToken = "", ""
	} else {
		g.receive(token)
	}
	kept := o.config.Store.update(context.WithoutCancel(ctx), func(c *content) error {
		now := c.grant(g.Server, g.URL)
		if now == nil || !now.SignedIn.Equal(g.SignedIn) {
			return errReplaced
		}
		g.Wanted = now.Wanted
		c.put(g)
		return nil
	})
	switch {
	case errors.Is(kept, errReplaced): // signed out, or in again, meanwhile
		return o.reload(ctx)
	case kept != nil:
		o.logger.Warn("a renewed sign-in could not be kept: it is lost when this process ends", "error", kept)
	}
	if err != nil {
		o.current.Store(nil)
		return nil, o.signIn(g.Ended)
	}
	o.logger.Debug("renewed the sign-in", "issuer", g.Issuer, "expires", g.Expires)
	h = &held{grant: g, client: h.client, header: http.Header{"Authorization": {"Bearer " + g.AccessToken}}}
	o.current.Store(h)
	return h, nil
}

var errReplaced = errors.New("replaced")
