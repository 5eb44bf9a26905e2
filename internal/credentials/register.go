package credentials

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"golang.org/x/oauth2"
)

// Ways in which a client shows the token endpoint who it is (RFC 7591).
const (
	authNone  = "none"
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
)

// client is what we are to one authorization server.
type client struct {
	Issuer      string    `json:"issuer"`
	ID          string    `json:"client_id"`
	Secret      string    `json:"client_secret,omitempty"`
	Method      string    `json:"token_endpoint_auth_method"`
	RedirectURI string    `json:"redirect_uri,omitempty"`
	Expires     time.Time `json:"expires,omitzero"`
}

func (c *client) authStyle() oauth2.AuthStyle {
	if c.Method == authBasic {
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleInParams
}

// method chooses how a client shows itself, of what the server offers. Nothing
// offered means authBasic (RFC 8414, section 2).
func method(offered []string, secret bool) (string, error) {
	wanted := []string{authNone, authBasic, authPost}
	if secret {
		wanted = []string{authBasic, authPost}
	}
	if len(offered) == 0 {
		return wanted[0], nil
	}
	for _, m := range wanted {
		if slices.Contains(offered, m) {
			return m, nil
		}
	}
	if !secret && slices.Contains(offered, authNone) {
		return authNone, nil
	}
	return "", fmt.Errorf("the authorization server wants its clients to show themselves in a way that is not supported: %s", shown(fmt.Sprint(offered)))
}

// register makes us a client of an authorization server (RFC 7591).
func register(ctx context.Context, web *http.Client, server authorizationServer, redirect, version string) (*client, error) {
	if err := checkURL("the registration_endpoint", server.RegistrationEndpoint); err != nil {
		return nil, err
	}
	wanted, err := method(server.AuthMethods, false)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{
		"client_name":                "ptc-mcp",
		"client_uri":                 "https://github.com/ptc-mcp/ptc-mcp",
		"software_id":                "ptc-mcp",
		"software_version":           version,
		"application_type":           "native",
		"redirect_uris":              []string{redirect},
		"grant_types":                []string{"authorization_code", "refresh_token"},
		"response_types":             []string{"code"},
		"token_endpoint_auth_method": wanted,
	})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.RegistrationEndpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := web.Do(req)
	if err != nil {
		return nil, fmt.Errorf("registering with %s: %w", shown(server.Issuer), networkError(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return nil, fmt.Errorf("authorization server %s did not register ptc-mcp (%s); register a client by hand and set auth.client_id", shown(server.Issuer), refusal(resp))
	}
	var answer struct {
		ID      string `json:"client_id"`
		Secret  string `json:"client_secret"`
		Method  string `json:"token_endpoint_auth_method"`
		Expires int64  `json:"client_secret_expires_at"`
	}
	if err := decode(resp, &answer); err != nil || answer.ID == "" {
		return nil, errors.Join(fmt.Errorf("authorization server %s answered the registration without a client_id", shown(server.Issuer)), err)
	}
	c := &client{Issuer: server.Issuer, ID: answer.ID, Secret: answer.Secret, Method: answer.Method, RedirectURI: redirect}
	switch {
	case c.Method == "" && c.Secret == "":
		c.Method = authNone
	case c.Method == "":
		c.Method = authBasic
	}
	if answer.Expires > 0 {
		c.Expires = time.Unix(answer.Expires, 0)
	}
	return c, nil
}

// refusal is what an OAuth error response says.
func refusal(resp *http.Response) string {
	text := fmt.Sprintf("HTTP status %d", resp.StatusCode)
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument))
	var said struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	if err == nil && json.Unmarshal(data, &said) == nil && said.Error != "" {
		text = shown(said.Error)
		if said.Description != "" {
			text += ": " + shown(said.Description)
		}
	}
	return text
}
