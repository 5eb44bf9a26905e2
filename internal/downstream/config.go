package downstream

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"time"
)

// Config describes one server and the limits of its session.
type Config struct {
	// Name is the server's name as configured; it is used in logs only.
	Name string
	// Transport is "stdio", "http" (streamable HTTP) or "sse" (the older
	// HTTP with server-sent events).
	Transport string

	// Command, Args and Env start a stdio server. Env is added to a minimal
	// environment (see environment.go) and wins over it.
	Command string
	Args    []string
	Env     map[string]string
	// Cwd is the folder it is started in; empty means our own.
	Cwd string
	// AllowTools, if there are any, are the only tools that are listed;
	// BlockTools are not. Both are the server's own names.
	AllowTools, BlockTools []string

	// URL and Headers reach an http or sse server.
	URL     string
	Headers map[string]string

	// Credentials authenticate the requests; nil means that Headers do, or that
	// nobody asks.
	Credentials Credentials
	// RootCAs are who may vouch for an https server; nil means the system's.
	RootCAs *x509.CertPool

	// ConnectTimeout bounds one attempt to connect, from the start of the
	// process or request to the end of the handshake. Default 30 s.
	ConnectTimeout time.Duration
	// ListTimeout bounds one tools/list with all its pages. Default 30 s.
	ListTimeout time.Duration
	// MaxResultBytes is the largest result value that is wanted. A message may
	// be somewhat more than twice that (see Config.messageLimit). Default 16 MiB.
	MaxResultBytes int64
	// MaxConcurrentCalls bounds the calls under way at once; more wait. 0: no
	// bound.
	MaxConcurrentCalls int
	// Waiting, if not nil, is told that a call waits for its turn; it returns
	// what to call when the turn has come.
	Waiting func(ctx context.Context) (resume func())
	// Elicitation tells, at each handshake, what of elicitation to declare; nil
	// for nothing. Elicit puts the parameters of an elicitation/create to the
	// user during the call of ctx and returns the raw ElicitResult; Thinking
	// stops that call's clocks until resume is called.
	Elicitation func() (form, url bool)
	Elicit      func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)
	Thinking    func(ctx context.Context) (resume func())
	// ClientVersion is the version ptc-mcp introduces itself with.
	ClientVersion string
	// Logger receives what happens to the session, and at debug level what
	// the server logs. Nil discards.
	Logger *slog.Logger
}

// Credentials say to an http or sse server who we are.
type Credentials interface {
	// Header returns what a request is to carry beside, and over, the
	// configured headers. An error ends the connection.
	Header(ctx context.Context) (http.Header, error)
	// Refused is told that a request that carried sent was answered with 401
	// or 403 and the given header. again says that Header has something better
	// now. err, if not nil, says what the user can do; with 401 it ends the
	// connection.
	Refused(ctx context.Context, sent http.Header, status int, answer http.Header) (again bool, err error)
	// Renewed returns when there may be better credentials than those that
	// failed last, or when ctx has ended.
	Renewed(ctx context.Context)
}

const (
	defaultTimeout        = 30 * time.Second
	defaultMaxResultBytes = 16 << 20

	// envelopeSlack is what a message may have beyond its result value.
	envelopeSlack = 64 << 10
	// minMessageLimit keeps a small result limit from making a long tools/list
	// unreadable.
	minMessageLimit = 16 << 20
)

func (c Config) withDefaults() Config {
	if c.ConnectTimeout <= 0 {
		c.ConnectTimeout = defaultTimeout
	}
	if c.ListTimeout <= 0 {
		c.ListTimeout = defaultTimeout
	}
	if c.MaxResultBytes <= 0 {
		c.MaxResultBytes = defaultMaxResultBytes
	}
	if c.ClientVersion == "" {
		c.ClientVersion = "dev"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Logger = c.Logger.With("server", c.Name)
	return c
}

// offers reports whether a tool of the server is listed.
func (c Config) offers(tool string) bool {
	return (len(c.AllowTools) == 0 || slices.Contains(c.AllowTools, tool)) && !slices.Contains(c.BlockTools, tool)
}

// resultLimit is the largest raw CallToolResult. Servers commonly send a value
// twice, as structured content and as escaped text; the exact check of the
// value is the registry's.
func (c Config) resultLimit() int64 { return 2*c.MaxResultBytes + envelopeSlack }

// messageLimit is the largest message that is kept in memory while it is read.
func (c Config) messageLimit() int64 { return max(c.resultLimit(), minMessageLimit) }
