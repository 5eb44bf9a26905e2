package credentials

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// Prompt is how a user takes part in a sign-in.
type Prompt struct {
	// Challenge is the header of the server's answer to a request without
	// credentials.
	Challenge http.Header
	// Show brings the user to an address: by a browser, or by words.
	Show func(ctx context.Context, address string) error
	// Pasted has lines that the user typed; nil when nobody can.
	Pasted <-chan string
	// Retry is told why a line was of no use.
	Retry func(reason error)
}

// SignIn has the user sign in, and keeps what comes of it in place of an earlier
// sign-in. ctx bounds it as a whole.
func (o *OAuth) SignIn(ctx context.Context, prompt Prompt) (*Account, error) {
	where, err := discover(ctx, o.web, o.config.URL, bearerChallenge(prompt.Challenge), o.config.Issuer)
	if err != nil {
		return nil, err
	}
	before, known, err := o.earlier(ctx, where.server.Issuer)
	if err != nil {
		return nil, err
	}
	state := rand.Text()
	back, us, err := o.identify(ctx, where, known, state)
	if err != nil {
		return nil, err
	}
	go back.serve()
	defer back.close() //nolint:contextcheck // the browser gets its page though ctx may have ended

	scopes := o.scopes(where, before)
	verifier := oauth2.GenerateVerifier()
	address := authorizationURL(where, us, scopes, state, verifier)
	if err := prompt.Show(ctx, address); err != nil {
		return nil, err
	}
	answer, err := await(ctx, back, prompt, state, where.server.SendsIssuer)
	if err != nil {
		return nil, err
	}
	code, err := codeOf(answer, where.server.Issuer, where.server.SendsIssuer)
	if err != nil {
		return nil, err
	}
	token, err := exchange(ctx, o.web, us, where.server.TokenEndpoint, code, verifier, where.resource)
	if err != nil {
		return nil, fmt.Errorf("authorization server %s: %w", shown(where.server.Issuer), err)
	}
	now := time.Now()
	g := grant{
		Server: o.config.Server, URL: o.config.URL,
		Issuer: where.server.Issuer, Resource: where.resource, ClientID: us.ID, Method: us.Method,
		TokenEndpoint: where.server.TokenEndpoint, RevocationEndpoint: where.server.RevocationEndpoint,
		Scopes: scopes, SignedIn: now,
	}
	g.receive(token)
	if err := o.keep(ctx, g, us); err != nil {
		return nil, err
	}
	return o.Account(ctx)
}

// earlier returns the sign-in to be replaced, and the client that was
// registered with the issuer; nil where there is none.
func (o *OAuth) earlier(ctx context.Context, issuer string) (before *grant, known *client, err error) {
	c, env, err := o.config.Store.load(ctx)
	switch {
	case err != nil && env != nil && errors.Is(err, ErrNoSecret):
		o.logger.Warn("what was kept is lost, as the keyring does not have its key any more")
		return nil, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("credentials in %s: %w", o.config.Store.path(), err)
	}
	before, known = c.grant(o.config.Server, o.config.URL), c.client(issuer)
	if id := o.config.ClientID; before != nil && id == before.ClientID && before.Issuer != issuer &&
		o.config.Issuer == "" && !isDocument(id) {
		return nil, nil, fmt.Errorf("auth.client_id was used at %s until now, and the server names %s today: if that is right, set auth.issuer to it and check client_id and client_secret", shown(before.Issuer), shown(issuer))
	}
	return before, known, nil
}

// isDocument reports whether a client id is the address of a client id metadata
// document, which is good for every authorization server.
func isDocument(id string) bool { return strings.HasPrefix(id, "https://") }

// identify opens the port that the browser comes back to, and returns what we
// are to the authorization server: the client of the configuration, else the
// one that was registered for that port, else a new one.
func (o *OAuth) identify(ctx context.Context, where *place, known *client, state string) (*callback, *client, error) {
	if o.config.ClientID != "" {
		how := authNone
		if o.config.ClientSecret != "" {
			var err error
			if how, err = method(where.server.AuthMethods, true); err != nil {
				return nil, nil, err
			}
		}
		back, err := listen(ctx, o.config.RedirectPort, state)
		if err != nil {
			return nil, nil, err
		}
		return back, &client{
			Issuer: where.server.Issuer, ID: o.config.ClientID, Secret: o.config.ClientSecret,
			Method: how, RedirectURI: back.redirectURI(),
		}, nil
	}
	if known != nil && (known.Expires.IsZero() || time.Now().Before(known.Expires)) {
		if back, err := listen(ctx, portOf(known.RedirectURI), state); err == nil && back.redirectURI() == known.RedirectURI {
			return back, known, nil
		} else if err == nil {
			_ = back.listener.Close()
		}
	}
	back, err := listen(ctx, o.config.RedirectPort, state)
	if err != nil {
		return nil, nil, err
	}
	us, err := o.registered(ctx, where, back.redirectURI())
	if err != nil {
		_ = back.listener.Close()
		return nil, nil, err
	}
	return back, us, nil
}

func (o *OAuth) registered(ctx context.Context, where *place, redirect string) (*client, error) {
	if where.server.RegistrationEndpoint == "" {
		hint := "register one there by hand, with the redirect address http://127.0.0.1:PORT" + callbackPath + ", and set auth.client_id and auth.redirect_port"
		if where.server.TakesClientDocuments {
			hint += ", or set auth.client_id to the address of a client id metadata document that you host"
		}
		return nil, fmt.Errorf("authorization server %s registers no clients by itself: %s", shown(where.server.Issuer), hint)
	}
	return register(ctx, o.web, where.server, redirect, o.config.ClientVersion)
}

func portOf(redirect string) int {
	u, err := url.Parse(redirect)
	if err != nil {
		return 0
	}
	port, _ := strconv.Atoi(u.Port())
	return port
}

// scopes are those to ask for: the configured ones, or those the server wants,
// and what it has missed since or given before.
func (o *OAuth) scopes(where *place, before *grant) []string {
	scopes := where.scopes
	if len(o.config.Scopes) > 0 {
		scopes = o.config.Scopes
	}
	if before != nil && before.Issuer == where.server.Issuer && (len(before.Wanted) > 0 || len(scopes) > 0) {
		scopes = union(scopes, before.Scopes, before.Wanted)
	}
	if len(scopes) > 0 && slices.Contains(where.server.ScopesSupported, offlineAccess) {
		scopes = union(scopes, []string{offlineAccess})
	}
	return scopes
}

// offlineAccess is the scope that some authorization servers want before they
// give a refresh token (OpenID Connect Core, section 11).
const offlineAccess = "offline_access"

func authorizationURL(where *place, us *client, scopes []string, state, verifier string) string {
	config := oauth2.Config{
		ClientID: us.ID, RedirectURL: us.RedirectURI, Scopes: scopes,
		Endpoint: oauth2.Endpoint{AuthURL: where.server.AuthorizationEndpoint},
	}
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("resource", where.resource)}
	if slices.Contains(scopes, offlineAccess) {
		options = append(options, oauth2.SetAuthURLParam("prompt", "consent"))
	}
	return config.AuthCodeURL(state, options...)
}

// await waits for the browser, or for the user to paste what it shows.
func await(ctx context.Context, back *callback, prompt Prompt, state string, needsIssuer bool) (url.Values, error) {
	lines := prompt.Pasted
	for {
		select {
		case answer := <-back.answers:
			return answer, nil
		case line, open := <-lines:
			if !open {
				lines = nil
				continue
			}
			answer, err := pasted(line, state, needsIssuer)
			if err == nil {
				return answer, nil
			}
			if prompt.Retry != nil {
				prompt.Retry(err)
			}
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return nil, errors.New("nobody came back from the browser in time")
			}
			return nil, ctx.Err()
		}
	}
}

// keep puts the grant in the store, and the client if it was registered by us.
func (o *OAuth) keep(ctx context.Context, g grant, us *client) error {
	unlock, err := o.config.Store.lockGrant(ctx, g.Server, g.URL)
	if err != nil {
		return err
	}
	defer unlock()
	err = o.config.Store.update(ctx, func(c *content) error {
		c.put(g)
		if o.config.ClientID == "" {
			c.putClient(*us)
		}
		return nil
	})
	o.current.Store(nil)
	return err
}

// SignOut revokes the tokens, as far as the authorization server offers that,
// and forgets them, with the client unless another server needs it. was is false
// when nobody had signed in. A failed revocation is an error, and all is
// forgotten nevertheless.
func (o *OAuth) SignOut(ctx context.Context) (was bool, err error) {
	unlock, err := o.config.Store.lockGrant(ctx, o.config.Server, o.config.URL)
	if err != nil {
		return false, err
	}
	defer unlock()
	var g *grant
	var us *client
	err = o.config.Store.update(ctx, func(c *content) error {
		g, us = nil, nil
		if known := c.grant(o.config.Server, o.config.URL); known != nil {
			found := *known
			g = &found
			if registered := c.client(g.Issuer); registered != nil {
				copied := *registered
				us = &copied
			}
			c.remove(o.config.Server, o.config.URL)
			if !slices.ContainsFunc(c.Grants, func(other grant) bool { return other.Issuer == g.Issuer }) {
				c.dropClient(g.Issuer)
			}
		}
		return nil
	})
	o.current.Store(nil)
	if err != nil || g == nil {
		return false, err
	}
	if o.config.ClientID != "" {
		us = &client{ID: o.config.ClientID, Secret: o.config.ClientSecret, Method: g.Method}
	}
	if us == nil {
		return true, nil
	}
	if err := revoke(ctx, o.web, us, g); err != nil {
		return true, fmt.Errorf("the tokens are forgotten here, but %s may still accept them: %w", shown(g.Issuer), err)
	}
	return true, nil
}
