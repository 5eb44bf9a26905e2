// Package mcpserver is the face ptc-mcp shows to an MCP client: four tools,
// their texts and results, progress, and the stdio loop that serves them.
//
// It owns everything the client reads and the life of every request. It must
// not know which servers, transports or sandboxes are behind the two small
// interfaces it is given, and it never waits for any of them to answer the
// handshake.
package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/ptc-mcp/ptc-mcp/internal/executor"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// Catalog is the catalogue of tools a program may call.
type Catalog interface {
	// Prepare returns the tools offered to the program, after waiting for the
	// servers it names that have not settled yet.
	Prepare(ctx context.Context, source string) tool.Table
	// Names returns the callable names, sorted.
	Names() []string
	// List describes the callable tools of one server, or with "" of all, sorted
	// by name. The error names the nearest servers.
	List(server string) ([]tool.Listed, error)
	// Search returns the tools that fit the query best, at most limit of them,
	// of one server or, with "", of all.
	Search(query string, limit int, server string) (tool.SearchResult, error)
	// Inspect describes one tool as a JSON object. The error names the nearest
	// callable names.
	Inspect(name string) (json.RawMessage, error)
	// Stub is one tool as typed Python. Errors are as Inspect's.
	Stub(name string) (string, error)
	// Folders are the Python names of the configured servers, sorted. Folder
	// lists the tools of one; the error is a *tool.Error when there is no such
	// server (tool.KindArguments) or it is not connected.
	Folders() []string
	Folder(name string) ([]tool.Module, error)
	// Servers returns the configured servers, in configuration order.
	Servers() []tool.Server
}

// Runner runs one program to its end, whatever that end is.
type Runner interface {
	Run(ctx context.Context, req executor.Request) *executor.Outcome
}

// Options are what a Server needs beside its two interfaces.
type Options struct {
	// Version is ptc-mcp's own version, as the client sees it.
	Version string
	// Trace is "summary" or "off": whether a result ends with a line that
	// counts the tool calls.
	Trace string
	// MaxOutputBytes bounds the text and, separately, the structured content of
	// one result.
	MaxOutputBytes int
	// Direct is what the client is offered beside this server's own tools; nil
	// for nothing. CallTimeout bounds each request that goes there.
	Direct      Direct
	CallTimeout time.Duration
	// Notes are what else a client should know that lists the tools, a line
	// each; nil for nothing.
	Notes func() []string
	// Greeted is called when the first client has said who it is; nil for
	// nothing. From then on Elicitation tells what it can ask its user.
	Greeted func()
	// Logger receives what the client does not see; nil discards it.
	Logger *slog.Logger
}

// Server answers MCP requests. It is safe for concurrent use.
type Server struct {
	catalog  Catalog
	runner   Runner
	opts     Options
	logger   *slog.Logger
	mcp      *server.MCPServer
	passage  *passage // nil when nothing passes through
	clients  clients
	folders  folders
	changed  chan struct{} // capacity 1
	maxLine  int           // longest message in bytes
	greeting sync.Once
	can      atomic.Pointer[answerable] // of the client that spoke last
}

// Elicitation tells what the client, as far as it has spoken, can ask its user.
func (s *Server) Elicitation() (form, url bool) {
	if can := s.can.Load(); can != nil {
		return can.form, can.url
	}
	return false, false
}

// greeted takes note of what a client can be asked.
func (s *Server) greeted(can answerable) {
	if known := s.can.Load(); known == nil || *known != can {
		s.can.Store(&can)
	}
	if s.opts.Greeted != nil {
		s.greeting.Do(s.opts.Greeted)
	}
}

// New returns a Server. It reads the names of the configured servers, and waits
// for none of them.
func New(catalog Catalog, runner Runner, opts Options) *Server {
	s := &Server{catalog: catalog, runner: runner, opts: opts, logger: opts.Logger, changed: make(chan struct{}, 1), maxLine: maxLineBytes}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	options := []server.ServerOption{
		server.WithTitle("Programmatic tool calling"),
		server.WithInstructions(instructions(catalog.Servers())),
		server.WithMethodCacheHints(mcp.MethodServerDiscover, definitionsTTL.Milliseconds(), mcp.CacheScopePrivate),
	}
	if opts.Direct != nil {
		s.passage = &passage{Direct: opts.Direct, timeout: opts.CallTimeout, state: opts.Direct.DirectState()}
		options = append(options, s.passage.capabilities()...)
	} else {
		options = append(options, server.WithToolCapabilities(false),
			// The definitions never change while the server runs.
			server.WithMethodCacheHints(mcp.MethodToolsList, definitionsTTL.Milliseconds(), mcp.CacheScopePrivate))
	}
	s.mcp = server.NewMCPServer("ptc-mcp", opts.Version, append(options, s.treeOptions()...)...)
	s.addTree()
	s.mcp.AddTools(
		server.ServerTool{Tool: listDefinition(), Handler: s.listCallableTools},
		server.ServerTool{Tool: searchDefinition(), Handler: s.searchTools},
		server.ServerTool{Tool: inspectDefinition(), Handler: s.inspectTool},
		server.ServerTool{Tool: executeDefinition(), Handler: s.executeProgram},
	)
	return s
}

// CatalogChanged has the clients told of what has changed for them. It does not
// block.
func (s *Server) CatalogChanged() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// announce tells the clients of changes until ctx ends.
func (s *Server) announce(ctx context.Context) {
	for {
		select {
		case <-s.changed:
		case <-ctx.Done():
			return
		}
		var changes []change
		if s.passage != nil {
			changes = s.passage.changes()
		}
		if s.listFolders() && !slices.Contains(changes, resourcesChanged) {
			changes = append(changes, resourcesChanged)
		}
		s.clients.tell(changes)
	}
}

// maxNamedServers bounds the servers that instructions names, so that its size
// does not depend on the configuration.
const (
	maxNamedServers    = 24
	maxServerNameBytes = 48
)

// instructions tells a client in a few lines what this server is for and whose
// tools are behind it.
func instructions(servers []tool.Server) string {
	var b strings.Builder
	b.WriteString("Runs a Python program in a sandbox without network; the program calls the tools of other MCP servers as async functions, and only what it prints comes back. ")
	b.WriteString("Use execute_program for work that takes several calls or large results; search_tools finds what a program may call, inspect_tool shows how.")
	if len(servers) == 0 {
		b.WriteString("\nNo servers are configured, so programs have no tools to call.")
		return b.String()
	}
	b.WriteString("\nServers behind it: ")
	for i, s := range servers {
		if i == maxNamedServers {
			fmt.Fprintf(&b, " and %d more", len(servers)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(shorten(s.Name, maxServerNameBytes))
	}
	b.WriteString(".")
	return b.String()
}

// shorten cuts text to at most limit bytes, at a character's border.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("…")], "") + "…"
}
