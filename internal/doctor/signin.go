package doctor

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/credentials"
)

// SignIn is what came of signing in to a server. It holds no secret.
type SignIn struct {
	SignedIn bool     `json:"signed_in"`
	Issuer   string   `json:"issuer,omitempty"`
	ClientID string   `json:"client_id,omitempty"`
	Resource string   `json:"resource,omitempty"`
	Scopes   []string `json:"scopes,omitempty"`
	// Missing are scopes that the server has asked for and that were not given.
	Missing []string  `json:"missing_scopes,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	// Expires is the end of the access token; Renewable says that it is then
	// renewed without the user.
	Expires   time.Time `json:"expires,omitzero"`
	Renewable bool      `json:"renewable"`
	// KeptIn is "keyring" or "file".
	KeptIn string `json:"kept_in,omitempty"`
	// Login is the command that signs in.
	Login string `json:"login"`
}

// signIn adds to a server's finding how one is signed in to it.
func signIn(ctx context.Context, s Subject, server string, err error, f *Finding) {
	login := credentials.LoginCommand(server)
	var wanted *credentials.SignInError
	if errors.As(err, &wanted) {
		f.Remedy = "sign in: " + login
	}
	if s.Account == nil {
		return
	}
	account, err := s.Account(ctx, server)
	switch {
	case err != nil:
		if f.Status == OK {
			f.Status = Warn
		}
		f.Detail += "; " + err.Error()
		f.Remedy = "unlock the keyring, or sign in anew: " + login
		return
	case account == nil || account.Issuer == "" && wanted == nil:
		return // it asks nobody to sign in
	}
	f.SignIn = &SignIn{
		SignedIn: account.SignedIn, Issuer: account.Issuer, ClientID: account.ClientID, Resource: account.Resource,
		Scopes: account.Scopes, Missing: account.Missing, Since: account.Since,
		Expires: account.Expires, Renewable: account.Renewable, KeptIn: keptIn(account), Login: login,
	}
	switch {
	case !account.SignedIn:
		return // the error says so
	case len(account.Missing) > 0 && f.Status == OK:
		f.Status = Warn
		f.Detail += "; it has asked for the scopes " + strings.Join(account.Missing, " ")
		f.Remedy = "sign in again to be given them: " + login
	}
	f.Detail += "; signed in at " + account.Issuer + expiry(account)
}

func keptIn(account *credentials.Account) string {
	switch {
	case account.Issuer == "":
		return ""
	case account.Keyring:
		return "keyring"
	}
	return "file"
}

func expiry(account *credentials.Account) string {
	if account.Expires.IsZero() {
		return ""
	}
	text := ", token until " + account.Expires.Local().Format("2006-01-02 15:04")
	if account.Renewable {
		text += ", then renewed"
	}
	return text
}
