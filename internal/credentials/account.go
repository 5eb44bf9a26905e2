package credentials

import (
	"context"
	"time"
)

// Account is how a sign-in stands.
type Account struct {
	// SignedIn is false when there is none, or it has ended; Ended says why.
	SignedIn bool
	Ended    string
	// Issuer gave the tokens, for Resource, to ClientID.
	Issuer, Resource, ClientID string
	// Scopes were given, Missing were not and have been asked for by the server.
	Scopes, Missing []string
	// Since is when the user signed in.
	Since time.Time
	// Expires is when the access token ends; zero if nobody said. Renewable
	// means that it is then renewed without the user.
	Expires   time.Time
	Renewable bool
	// Keyring is true when what is kept is sealed with a key of the keyring.
	Keyring bool
}

// Account says how the sign-in stands, without asking anybody but the store.
func (o *OAuth) Account(ctx context.Context) (*Account, error) {
	g, _, err := o.config.Store.find(ctx, o.config.Server, o.config.URL)
	if err != nil {
		return nil, err
	}
	if g == nil {
		return &Account{}, nil
	}
	a := &Account{
		SignedIn: g.Ended == "", Ended: g.Ended,
		Issuer: g.Issuer, Resource: g.Resource, ClientID: g.ClientID,
		Scopes: g.Scopes, Since: g.SignedIn, Expires: g.Expires, Renewable: g.RefreshToken != "",
		Keyring: o.config.Store.sealed(ctx),
	}
	given := map[string]bool{}
	for _, scope := range g.Scopes {
		given[scope] = true
	}
	for _, scope := range g.Wanted {
		if !given[scope] {
			a.Missing = append(a.Missing, scope)
		}
	}
	if a.SignedIn && !a.Renewable && !a.Expires.IsZero() && time.Now().After(a.Expires) {
		a.SignedIn, a.Ended = false, "the sign-in has expired"
	}
	return a, nil
}
