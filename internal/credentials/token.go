package credentials

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// errRefused means that the authorization server has said no, and would again.
var errRefused = errors.New("refused")

// exchange trades an authorization code for tokens.
func exchange(ctx context.Context, web *http.Client, c *client, tokenEndpoint, code, verifier, resource string) (*oauth2.Token, error) {
	config := oauth2.Config{
		ClientID: c.ID, ClientSecret: c.Secret, RedirectURL: c.RedirectURI,
		Endpoint: oauth2.Endpoint{TokenURL: tokenEndpoint, AuthStyle: c.authStyle()},
	}
	token, err := config.Exchange(context.WithValue(ctx, oauth2.HTTPClient, web), code,
		oauth2.VerifierOption(verifier), oauth2.SetAuthURLParam("resource", resource))
	if err != nil {
		return nil, tokenError(err)
	}
	return token, bearer(token)
}

// refresh trades a refresh token for new tokens. The library's own refresh has
// no place for a resource; a grant of any type has.
func refresh(ctx context.Context, web *http.Client, c *client, tokenEndpoint, refreshToken, resource string) (*oauth2.Token, error) {
	config := clientcredentials.Config{
		ClientID: c.ID, ClientSecret: c.Secret, TokenURL: tokenEndpoint, AuthStyle: c.authStyle(),
		EndpointParams: url.Values{
			"grant_type": {"refresh_token"}, "refresh_token": {refreshToken}, "resource": {resource},
		},
	}
	token, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, web))
	if err != nil {
		return nil, tokenError(err)
	}
	return token, bearer(token)
}

// bearer refuses tokens that want more than to be sent along.
func bearer(token *oauth2.Token) error {
	if !strings.EqualFold(token.Type(), "Bearer") {
		return fmt.Errorf("the authorization server gave a token of the type %q, which is not supported", shown(token.Type()))
	}
	if strings.ContainsFunc(token.AccessToken, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return errors.New("the authorization server gave a token that no header can hold")
	}
	return nil
}

// tokenError is an error of the token endpoint without anything of the request
// or of an unknown answer. It is errRefused when the grant or the client is not
// accepted (RFC 6749, section 5.2), not when the server is merely not well.
func tokenError(err error) error {
	var answered *oauth2.RetrieveError
	if !errors.As(err, &answered) {
		return fmt.Errorf("the token endpoint: %w", networkError(err))
	}
	status := 0
	if answered.Response != nil {
		status = answered.Response.StatusCode
	}
	if answered.ErrorCode == "" {
		return fmt.Errorf("the token endpoint answered HTTP status %d", status)
	}
	text := shown(answered.ErrorCode)
	if answered.ErrorDescription != "" {
		text += ": " + shown(answered.ErrorDescription)
	}
	if status >= 500 || status == http.StatusTooManyRequests ||
		answered.ErrorCode == "temporarily_unavailable" || answered.ErrorCode == "server_error" {
		return fmt.Errorf("the token endpoint answered HTTP status %d: %s", status, text)
	}
	return fmt.Errorf("%w: %s", errRefused, text)
}

// receive puts tokens into the grant.
func (g *grant) receive(token *oauth2.Token) {
	g.AccessToken, g.RefreshToken, g.Expires = token.AccessToken, token.RefreshToken, token.Expiry
	g.Obtained = time.Now()
	if scope, ok := token.Extra("scope").(string); ok && scope != "" {
		g.Scopes = scopesOf(scope)
	}
	g.Ended = ""
}

// revoke tells the authorization server that the tokens are not used any more
// (RFC 7009).
func revoke(ctx context.Context, web *http.Client, c *client, g *grant) error {
	if g.RevocationEndpoint == "" {
		return nil
	}
	token, hint := g.RefreshToken, "refresh_token"
	if token == "" {
		token, hint = g.AccessToken, "access_token"
	}
	if token == "" {
		return nil
	}
	form := url.Values{"token": {token}, "token_type_hint": {hint}}
	if c.authStyle() == oauth2.AuthStyleInParams {
		form.Set("client_id", c.ID)
		if c.Secret != "" {
			form.Set("client_secret", c.Secret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.RevocationEndpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if c.authStyle() == oauth2.AuthStyleInHeader {
		req.SetBasicAuth(url.QueryEscape(c.ID), url.QueryEscape(c.Secret))
	}
	resp, err := web.Do(req)
	if err != nil {
		return networkError(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return errors.New(refusal(resp))
	}
	return nil
}

// expirySkew is how long before its end a token is renewed.
const expirySkew = 30 * time.Second

// fresh reports whether the access token is still to be used.
func (g *grant) fresh(now time.Time) bool {
	skew := min(expirySkew, g.Expires.Sub(g.Obtained)/4)
	return g.AccessToken != "" && (g.Expires.IsZero() || now.Before(g.Expires.Add(-skew)))
}
