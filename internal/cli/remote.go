package cli

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/ptc-mcp/ptc-mcp/internal/config"
	"github.com/ptc-mcp/ptc-mcp/internal/credentials"
	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// reach says how a server is reached, without credentials.
func reach(s config.Server, version string, logger *slog.Logger) downstream.Config {
	roots, err := rootCAs(s)
	if err != nil {
		logger.Error("going on with the system's certificates only", "error", err)
	}
	return downstream.Config{
		Name: s.Name, Transport: string(s.Transport),
		Command: s.Command, Args: s.Args, Env: s.Env, Cwd: s.Cwd,
		AllowTools: s.AllowTools, BlockTools: s.BlockTools,
		URL: s.URL, Headers: s.Headers, RootCAs: roots,
		ConnectTimeout:     seconds(s.ConnectTimeoutSeconds),
		ListTimeout:        seconds(s.ListTimeoutSeconds),
		MaxConcurrentCalls: s.MaxConcurrentCalls,
		Waiting:            tool.Pause,
		Thinking:           tool.PauseAll,
		Elicit: func(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
			return tool.Ask(ctx, tool.Question{Server: s.Name, Params: params})
		},
		ClientVersion: version,
		Logger:        logger,
	}
}

// signIns are the sign-ins of the servers that OAuth is for. Servers may come
// while ptc-mcp serves.
type signIns struct {
	mu      sync.Mutex
	present map[string]*credentials.OAuth
	all     []*credentials.OAuth
}

func (s *signIns) add(server string, o *credentials.OAuth) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.present == nil {
		s.present = map[string]*credentials.OAuth{}
	}
	s.present[server] = o
	s.all = append(s.all, o)
}

// of returns a server's sign-in; nil where OAuth is not how it is reached.
func (s *signIns) of(server string) *credentials.OAuth {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.present[server]
}

// Close waits until no token is being renewed.
func (s *signIns) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.all {
		_ = o.Close()
	}
	return nil
}

// credentials are what the server is shown: headers from a command, or what
// came of signing in. A header Authorization in the configuration leaves nothing
// to add.
func (a *app) credentials(s config.Server, roots *x509.CertPool, version string) downstream.Credentials {
	if s.Transport == config.Stdio {
		return nil
	}
	if len(s.HeadersCommand) > 0 {
		return credentials.NewCommand(credentials.CommandConfig{
			Server: s.Name, Args: s.HeadersCommand, Env: downstream.Environment(nil),
			Cache: seconds(s.HeadersCacheSeconds), Logger: a.logger,
		})
	}
	folder, err := credentials.DefaultFolder()
	if err != nil || hasAuthorization(s) {
		return nil
	}
	signIn := credentials.NewOAuth(credentials.OAuthConfig{
		Server: s.Name, URL: s.URL,
		ClientID: s.Auth.ClientID, ClientSecret: s.Auth.ClientSecret, Issuer: s.Auth.Issuer,
		Scopes: s.Auth.Scopes, RedirectPort: s.Auth.RedirectPort,
		RootCAs: roots, HasHeaders: len(s.Headers) > 0, Store: credentials.NewStore(folder, credentials.SystemKeyring()),
		ClientVersion: version, Logger: a.logger,
	})
	a.signIns.add(s.Name, signIn)
	return signIn
}

func hasAuthorization(s config.Server) bool {
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			return true
		}
	}
	return false
}

// rootCAs are the system's certificates and those of the server's ca_file; nil
// without one.
func rootCAs(s config.Server) (*x509.CertPool, error) {
	if s.CAFile == "" {
		return nil, nil
	}
	data, err := os.ReadFile(s.CAFile)
	if err != nil {
		return nil, usageErrorf("server %q: ca_file: %w", s.Name, err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(data) {
		return nil, usageErrorf("server %q: ca_file: %s holds no certificate in PEM", s.Name, s.CAFile)
	}
	return roots, nil
}

// account is how one is signed in to a server; nil where OAuth is not how it is
// reached.
func (a *app) account(ctx context.Context, server string) (*credentials.Account, error) {
	if o := a.signIns.of(server); o != nil {
		return o.Account(ctx)
	}
	return nil, nil
}

// signInOf returns the server's entry and its sign-in, or says why it has none.
func (a *app) signInOf(name string) (config.Server, *credentials.OAuth, error) {
	var remote []string
	for _, s := range a.config.Servers {
		if s.Name != name {
			if a.signIns.of(s.Name) != nil {
				remote = append(remote, s.Name)
			}
			continue
		}
		switch {
		case a.signIns.of(name) != nil:
			return s, a.signIns.of(name), nil
		case s.Transport == config.Stdio:
			return s, nil, usageErrorf("server %q is a process on this machine; signing in is for http and sse servers", name)
		case len(s.HeadersCommand) > 0:
			return s, nil, usageErrorf("server %q gets its headers from headers_command; remove that to sign in", name)
		case hasAuthorization(s):
			return s, nil, usageErrorf("server %q has a header Authorization in the configuration; remove that to sign in", name)
		}
		return s, nil, fmt.Errorf("server %q: no folder to keep a sign-in in; set HOME", name)
	}
	if len(remote) == 0 {
		return config.Server{}, nil, usageErrorf("no server %q, and none that one can sign in to, in the configuration", name)
	}
	return config.Server{}, nil, usageErrorf("no server %q in the configuration; one can sign in to %s", name, strings.Join(remote, ", "))
}
