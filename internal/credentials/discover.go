package credentials

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// protectedResource is what is used of RFC 9728 metadata.
type protectedResource struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	ScopesSupported      []string `json:"scopes_supported"`
}

// authorizationServer is what is used of RFC 8414 or OpenID Connect Discovery
// metadata.
type authorizationServer struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	RevocationEndpoint    string   `json:"revocation_endpoint"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported"`
	AuthMethods           []string `json:"token_endpoint_auth_methods_supported"`
	ScopesSupported       []string `json:"scopes_supported"`
	SendsIssuer           bool     `json:"authorization_response_iss_parameter_supported"`
	TakesClientDocuments  bool     `json:"client_id_metadata_document_supported"`
}

// place is where to sign in for a server, and for what.
type place struct {
	server   authorizationServer
	resource string   // the resource indicator (RFC 8707)
	scopes   []string // what the server asks for; nil if it does not say
	legacy   bool     // protocol 2025-03-26: the server is its own authorization server
}

// discover finds out where to sign in for the server at address, which has
// answered with a challenge. issuer, if not empty, is the only one to use.
func discover(ctx context.Context, client *http.Client, address string, challenge map[string]string, issuer string) (*place, error) {
	if err := checkURL("the server's url", address); err != nil {
		return nil, err
	}
	resource, err := findResource(ctx, client, address, challenge["resource_metadata"])
	if errors.Is(err, errAbsent) {
		return discoverLegacy(ctx, client, address, challenge, issuer)
	}
	if err != nil {
		return nil, err
	}
	p := &place{resource: resource.Resource, scopes: scopesOf(challenge["scope"])}
	if len(p.scopes) == 0 {
		p.scopes = union(resource.ScopesSupported)
	}
	if len(resource.AuthorizationServers) == 0 {
		return nil, errors.New("the server's metadata names no authorization server; the server is at fault")
	}
	chosen := resource.AuthorizationServers[0]
	if issuer != "" {
		if !slices.Contains(resource.AuthorizationServers, issuer) {
			return nil, fmt.Errorf("the server names other authorization servers than %s, auth.issuer in the configuration: %s", issuer, shown(strings.Join(resource.AuthorizationServers, ", ")))
		}
		chosen = issuer
	}
	found, err := findAuthorizationServer(ctx, client, chosen)
	if err != nil {
		return nil, fmt.Errorf("authorization server %s: %w", shown(chosen), err)
	}
	if found.Issuer != chosen {
		return nil, fmt.Errorf("authorization server %s: its metadata names another issuer, %q; it must not be used", shown(chosen), shown(found.Issuer))
	}
	p.server = *found
	return p, p.server.check()
}

// findResource fetches the metadata of the server, from where the challenge
// says, or from the well-known places.
func findResource(ctx context.Context, client *http.Client, address, named string) (*protectedResource, error) {
	candidates := []string{named}
	if named == "" {
		path := wellKnown(address, "oauth-protected-resource", true)
		root := wellKnown(address, "oauth-protected-resource", false)
		candidates = slices.Compact([]string{path, root})
	}
	for _, candidate := range candidates {
		if err := checkURL("the address of the server's metadata", candidate); err != nil {
			return nil, err
		}
		var resource protectedResource
		switch err := getJSON(ctx, client, candidate, &resource); {
		case errors.Is(err, errAbsent) && named == "":
			continue
		case err != nil:
			return nil, fmt.Errorf("the server's metadata at %s: %w", shown(candidate), withoutAbsent(err))
		}
		if !covers(resource.Resource, address) {
			return nil, fmt.Errorf("the server's metadata at %s is for another resource, %q; it must not be used", shown(candidate), shown(resource.Resource))
		}
		return &resource, nil
	}
	return nil, errAbsent
}

// withoutAbsent keeps what was named and is not there from being taken for
// what nobody spoke of.
func withoutAbsent(err error) error {
	if errors.Is(err, errAbsent) {
		return errors.New(err.Error())
	}
	return err
}

// covers reports whether a resource is the server at address, or a part of its
// host that the server belongs to.
func covers(resource, address string) bool {
	r, err := url.Parse(resource)
	a, err2 := url.Parse(address)
	if err != nil || err2 != nil || r.Fragment != "" || !strings.EqualFold(r.Scheme, a.Scheme) || !strings.EqualFold(r.Host, a.Host) {
		return false
	}
	parent := strings.TrimSuffix(r.Path, "/")
	return (r.RawQuery == "" || r.RawQuery == a.RawQuery) &&
		(parent == strings.TrimSuffix(a.Path, "/") || strings.HasPrefix(a.Path, parent+"/"))
}

// wellKnown puts a well-known name between the host and the path of an address,
// or, without the path, after the host.
func wellKnown(address, name string, withPath bool) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	path := ""
	if withPath {
		path = strings.TrimSuffix(u.EscapedPath(), "/")
	}
	return u.Scheme + "://" + u.Host + "/.well-known/" + name + path
}

// findAuthorizationServer fetches the metadata of an issuer. Its error is
// errAbsent when there is none anywhere.
func findAuthorizationServer(ctx context.Context, client *http.Client, issuer string) (*authorizationServer, error) {
	if err := checkURL("the issuer", issuer); err != nil {
		return nil, err
	}
	candidates := slices.Compact([]string{
		wellKnown(issuer, "oauth-authorization-server", true),
		wellKnown(issuer, "openid-configuration", true),
		strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration",
	})
	for _, candidate := range candidates {
		var found authorizationServer
		switch err := getJSON(ctx, client, candidate, &found); {
		case errors.Is(err, errAbsent):
			continue
		case err != nil:
			return nil, fmt.Errorf("metadata at %s: %w", shown(candidate), err)
		}
		return &found, nil
	}
	return nil, fmt.Errorf("no metadata at any well-known place: %w", errAbsent)
}

// check refuses what must not be signed in to.
func (a *authorizationServer) check() error {
	for what, endpoint := range map[string]string{"authorization_endpoint": a.AuthorizationEndpoint, "token_endpoint": a.TokenEndpoint} {
		if err := checkURL("the "+what+" of "+shown(a.Issuer), endpoint); err != nil {
			return err
		}
	}
	if !slices.Contains(a.ChallengeMethods, "S256") {
		return fmt.Errorf("authorization server %s does not offer PKCE with S256 in its metadata, and must not be used without", shown(a.Issuer))
	}
	return nil
}

// discoverLegacy follows protocol 2025-03-26: the authorization server is on
// the server's own host, and where it has no metadata, its endpoints have fixed
// names. Its PKCE is required there, so it is used unseen.
func discoverLegacy(ctx context.Context, client *http.Client, address string, challenge map[string]string, issuer string) (*place, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	origin := u.Scheme + "://" + u.Host
	if issuer != "" && strings.TrimSuffix(issuer, "/") != origin {
		return nil, fmt.Errorf("the server has no metadata that names %s, auth.issuer in the configuration", issuer)
	}
	p := &place{resource: canonical(u), scopes: scopesOf(challenge["scope"]), legacy: true}
	found, err := findAuthorizationServer(ctx, client, origin)
	switch {
	case errors.Is(err, errAbsent):
		p.server = authorizationServer{
			Issuer:                origin,
			AuthorizationEndpoint: origin + "/authorize", TokenEndpoint: origin + "/token", RegistrationEndpoint: origin + "/register",
			ChallengeMethods: []string{"S256"},
		}
		return p, nil
	case err != nil:
		return nil, fmt.Errorf("authorization server %s: %w", origin, err)
	case strings.TrimSuffix(found.Issuer, "/") != origin: // at that time, many wrote it with the slash
		return nil, fmt.Errorf("authorization server %s: its metadata names another issuer, %q; it must not be used", origin, shown(found.Issuer))
	}
	p.server = *found
	return p, p.server.check()
}

// canonical is the resource indicator of a server without metadata.
func canonical(u *url.URL) string {
	r := url.URL{Scheme: strings.ToLower(u.Scheme), Host: strings.ToLower(u.Host), Path: u.Path, RawPath: u.RawPath}
	if r.Path == "/" {
		r.Path, r.RawPath = "", ""
	}
	return r.String()
}
