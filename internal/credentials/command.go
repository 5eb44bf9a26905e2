package credentials

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"
)

const (
	// commandTimeout bounds one run of a command.
	commandTimeout = 30 * time.Second
	// maxPrinted bounds what a command may print.
	maxPrinted = 64 << 10
	// maxSaid bounds what is repeated of a command's standard error.
	maxSaid = 4 << 10
)

// CommandConfig describes a command that prints headers.
type CommandConfig struct {
	// Server is the configured name of the server the headers are for.
	Server string
	// Args are the program and its arguments; Env is its whole environment.
	Args, Env []string
	// Cache is how long what it printed is used.
	Cache time.Duration
	// Logger receives what happens, never a header. Nil discards.
	Logger *slog.Logger
}

// Command has headers from what a command prints: a JSON object of strings, or
// lines "Name: value". It is not run by a shell. Its methods may be called from
// any goroutine.
type Command struct {
	config CommandConfig
	logger *slog.Logger

	running chan struct{} // capacity 1: held while the command runs

	mu      sync.Mutex
	printed http.Header // nil when it is to be run
	expires time.Time
}

// NewCommand makes the headers of one server. It runs nothing yet.
func NewCommand(config CommandConfig) *Command {
	logger := config.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Command{config: config, logger: logger.With("server", config.Server), running: make(chan struct{}, 1)}
}

// Header returns what the command printed, and runs it first where that is too
// old.
func (c *Command) Header(ctx context.Context) (http.Header, error) {
	if h := c.cached(); h != nil {
		return h, nil
	}
	select {
	case c.running <- struct{}{}:
		defer func() { <-c.running }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if h := c.cached(); h != nil { // run for somebody else meanwhile
		return h, nil
	}
	h, err := c.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("headers_command of server %q, %s: %w", c.config.Server, c.config.Args[0], err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.printed, c.expires = h, time.Now().Add(c.config.Cache)
	return h, nil
}

func (c *Command) cached() http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.printed != nil && time.Now().Before(c.expires) {
		return c.printed
	}
	return nil
}

// Refused is told that the server refused a request sent with the headers. When
// the status is 401 the command is run again, and again says that it printed
// something else.
func (c *Command) Refused(ctx context.Context, sent http.Header, status int, _ http.Header) (again bool, err error) {
	if status != http.StatusUnauthorized {
		return false, nil
	}
	c.mu.Lock()
	if sameHeader(c.printed, sent) {
		c.printed = nil
	}
	c.mu.Unlock()
	h, err := c.Header(ctx)
	if err != nil {
		return false, err
	}
	if sameHeader(h, sent) {
		return false, fmt.Errorf("headers_command of server %q, %s: the server refuses the headers that it printed", c.config.Server, c.config.Args[0])
	}
	return true, nil
}

func sameHeader(a, b http.Header) bool {
	return maps.EqualFunc(a, b, func(x, y []string) bool { return strings.Join(x, "\n") == strings.Join(y, "\n") })
}

// Renewed waits for ctx: only a new request can tell.
func (c *Command) Renewed(ctx context.Context) { <-ctx.Done() }

func (c *Command) run(ctx context.Context) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.config.Args[0], c.config.Args[1:]...) //nolint:gosec // the user's own configuration
	cmd.Env = c.config.Env
	killTree(cmd)
	cmd.WaitDelay = time.Second
	out, said := &bounded{most: maxPrinted}, &bounded{most: maxSaid}
	cmd.Stdout, cmd.Stderr = out, said
	began := time.Now()
	err := cmd.Run()
	c.logger.Debug("ran the command for headers", "took", time.Since(began).Round(time.Millisecond), "ok", err == nil)
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("did not end within %s", commandTimeout)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		if last := lastLine(said.text.String()); last != "" {
			return nil, fmt.Errorf("%w: %s", err, shown(last))
		}
		return nil, err
	case out.over:
		return nil, fmt.Errorf("printed more than %d bytes", maxPrinted)
	}
	return parseHeaders(out.text.Bytes())
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	most int
	text bytes.Buffer
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	kept := p[:min(len(p), b.most-b.text.Len())]
	b.over = b.over || len(kept) < len(p)
	b.text.Write(kept)
	return len(p), nil
}

// parseHeaders reads what a command printed. Its errors repeat none of it.
func parseHeaders(printed []byte) (http.Header, error) {
	h := http.Header{}
	printed = bytes.TrimSpace(printed)
	if bytes.HasPrefix(printed, []byte("{")) {
		var fields map[string]string
		if err := json.Unmarshal(printed, &fields); err != nil {
			return nil, errors.New("printed what begins as a JSON object but is not one of strings")
		}
		for name, value := range fields {
			if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
				return nil, errors.New("printed a JSON object in which a name or a value cannot be a header's")
			}
			h.Set(name, value)
		}
	} else {
		for i, line := range strings.Split(string(printed), "\n") {
			line = strings.TrimSpace(line)
			if line == "" {
				continue
			}
			name, value, found := strings.Cut(line, ":")
			value = strings.TrimSpace(value)
			if !found || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
				return nil, fmt.Errorf("printed a line %d that is not a header; print a JSON object of strings, or lines Name: value", i+1)
			}
			h.Set(name, value)
		}
	}
	if len(h) == 0 {
		return nil, errors.New("printed no headers")
	}
	return h, nil
}
