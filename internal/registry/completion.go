package registry

import (
	"context"
	"encoding/json"
	"strings"
	"time"
)

// completionFunction is what errors of a completion call it.
const completionFunction = "completion"

// DirectComplete completes an argument of a prompt, by the name that
// DirectPrompts gave it, or of a resource template, and returns the raw
// CompleteResult; params are those of completion/complete. Its errors are
// CallDirect's; ok is false when what is referred to is of no server whose kind
// passes through.
func (r *Registry) DirectComplete(ctx context.Context, params json.RawMessage) (raw json.RawMessage, ok bool, err error) {
	var members map[string]json.RawMessage
	var ref struct {
		Type string `json:"type"`
		Name string `json:"name"`
		URI  string `json:"uri"`
	}
	if readable := json.Unmarshal(params, &members) == nil && json.Unmarshal(members["ref"], &ref) == nil; !readable {
		return nil, false, nil
	}
	var owner *view
	switch ref.Type {
	case "ref/prompt":
		for _, v := range r.directServers(promptsOf) {
			if original, found := strings.CutPrefix(ref.Name, v.prefix); found {
				owner = v
				members["ref"] = append(appendQuoted([]byte(`{"type":"ref/prompt","name":`), original), '}')
			}
		}
	case "ref/resource":
		owner = r.owner(ctx, ref.URI)
	}
	if owner == nil || !owner.status.Completions {
		return nil, false, nil
	}
	params, err = json.Marshal(members)
	if err != nil {
		return nil, true, err
	}
	started := time.Now()
	raw, err = owner.Complete(ctx, params)
	return raw, true, owner.directError(ctx, completionFunction, err, started)
}
