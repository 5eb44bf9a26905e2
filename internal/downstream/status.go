package downstream

import (
	"encoding/json"
	"time"
)

// State is where a session stands.
type State int

// The states of a session.
const (
	// Connecting lasts until the first attempt to connect has ended.
	Connecting State = iota
	// Connected means that calls can be made.
	Connected
	// Down means that the last attempt failed or the connection was lost;
	// another attempt is under way or will follow, unless the session is closed.
	Down
)

// String returns the state in lower case.
func (s State) String() string {
	switch s {
	case Connected:
		return "connected"
	case Down:
		return "down"
	default:
		return "connecting"
	}
}

// Status is a snapshot of a session.
type Status struct {
	State State
	// Err says why the session is down, or, while it is connected, why its
	// tool list could not be had; nil otherwise.
	Err error
	// Lost is when the last connection was lost; zero while there is one, and
	// when there never was.
	Lost time.Time
	// Tools is the server's tool list; it must not be changed. Empty unless
	// connected.
	Tools []Tool
	// Resources and Prompts tell whether the server offers any, Completions
	// whether it completes their arguments; they are kept from the last
	// connection. The revisions grow whenever a list may have
	// changed.
	Resources, Prompts, Completions    bool
	ResourcesRevision, PromptsRevision uint64
	// Protocol is the negotiated protocol version; ServerName and
	// ServerVersion are what the server calls itself. They are kept from the
	// last connection.
	Protocol, ServerName, ServerVersion string
	// ConnectDuration is how long the last successful attempt took, the first
	// tools/list included.
	ConnectDuration time.Duration
	// Stderr holds the last lines a stdio server wrote to its standard error.
	Stderr string
	// Generation grows with every change of state, error or tool list.
	Generation uint64
}

// Tool is one tool as the server describes it.
type Tool struct {
	Name, Title, Description string
	// InputSchema and OutputSchema are the schemas' exact bytes; nil when the
	// server declares none.
	InputSchema, OutputSchema json.RawMessage
	// The annotations' hints; nil when not given.
	ReadOnly, Destructive, Idempotent, OpenWorld *bool
	// Raw is the whole definition, as it was sent.
	Raw json.RawMessage
}
