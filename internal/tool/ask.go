package tool

import (
	"context"
	"encoding/json"
	"errors"
)

// Question is what a server wants to have asked of the user while it works on a
// call.
type Question struct {
	// Server is the name of the server that asks, as configured.
	Server string
	// Params are the raw parameters of elicitation/create.
	Params json.RawMessage
}

// ErrNobodyToAsk is the error of a question that cannot be put to anybody.
var ErrNobodyToAsk = errors.New("the client cannot ask its user")

// Asker puts a question to the user and waits for the raw ElicitResult, or until
// ctx ends.
type Asker func(ctx context.Context, q Question) (json.RawMessage, error)

type askerKey struct{}

// WithAsker has the questions of servers in calls under ctx put by ask.
func WithAsker(ctx context.Context, ask Asker) context.Context {
	return context.WithValue(ctx, askerKey{}, ask)
}

// Ask puts a question to the user on whose behalf the call under ctx is made.
func Ask(ctx context.Context, q Question) (json.RawMessage, error) {
	ask, _ := ctx.Value(askerKey{}).(Asker)
	if ask == nil {
		return nil, ErrNobodyToAsk
	}
	return ask(ctx, q)
}
