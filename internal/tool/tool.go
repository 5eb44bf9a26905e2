// Package tool holds the few words that the catalogue, the executor and the
// channel share when they speak of a tool: its callable name, the table sent
// to a run, and the error a call can end with.
//
// It knows no server, no transport and no sandbox, and imports nothing
// internal.
package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Prefix starts the callable name of every tool of a configured server:
// mcp__<server>__<tool>. Names without it are ptc-mcp's own functions.
const Prefix = "mcp__"

// Names of ptc-mcp's own functions that a program may call. They are answered
// by the host and do not count against the call budget.
const (
	ListCallableTools = "list_callable_tools"
	SearchTools       = "search_tools"
	InspectTool       = "inspect_tool"
	ServerStatus      = "server_status"
)

// Names of the functions by which a program reaches what servers offer beside
// tools. They only read, and count like the calls of tools.
const (
	ListResources = "list_resources"
	ReadResource  = "read_resource"
	ListPrompts   = "list_prompts"
	GetPrompt     = "get_prompt"
)

// Offers reports whether the name is one of the functions for resources and
// prompts.
func Offers(name string) bool {
	switch name {
	case ListResources, ReadResource, ListPrompts, GetPrompt:
		return true
	}
	return false
}

// Counted reports whether a call of the name counts against the budget, the
// trace and the receipt: only calls that go to servers do.
func Counted(name string) bool { return strings.HasPrefix(name, Prefix) || Offers(name) }

// ToolTable is a function of the host that the runner alone calls: it answers
// with the rows of the tool table that a run was not given.
const ToolTable = "tool_table"

// Absence is a function of the host that the runner alone calls: it answers with
// a text that says why a tool (tool_name) or a server (server, by its part of
// callable names) is not in the table, null when nothing is called so.
const Absence = "tool_absence"

// Functions of the host that the runner calls for types, only when a program
// asks for them.
const (
	// ToolStub (tool_name) answers with the text of a tool's wrapper file.
	ToolStub = "tool_stub"
	// ServerStubs (server) answers with an object of them, by the tool's part
	// of callable names.
	ServerStubs = "server_stubs"
)

// Table is an immutable snapshot of the tools one run may call.
type Table struct {
	// Wire is the table as the channel's start frame carries it: a JSON array
	// of objects described in docs/channel.md.
	Wire json.RawMessage
	// Servers is nil when Wire is the whole table. Otherwise Wire holds the
	// tools that the run's program can name, and Servers the sorted names of
	// all servers that have tools; the rest is had from ToolTable.
	Servers []string
	// ReadOnly holds the callable names whose server declares readOnlyHint.
	ReadOnly map[string]bool
}

// Definition is a tool as the client is offered it itself: the server's own
// words, under the callable name.
type Definition struct {
	Name string
	// Raw is a Tool object of MCP.
	Raw json.RawMessage
}

// DirectState stands for what is offered to the client itself: each part
// changes when that does.
type DirectState struct{ Tools, Resources, Prompts string }

// RPCError is a JSON-RPC error with which a server answered a request that
// passes through.
type RPCError struct {
	Code    int
	Message string
	// Data is the raw data member; nil when there was none.
	Data json.RawMessage
}

// Error returns Message.
func (e *RPCError) Error() string { return e.Message }

// Kind classifies the end of a failed call. The values travel on the channel
// and are what a program sees as ToolError.kind.
type Kind string

// The kinds of a failed call.
const (
	KindResult     Kind = "error_result"     // the server answered isError
	KindProtocol   Kind = "protocol_error"   // the server answered a JSON-RPC error
	KindTimeout    Kind = "timeout"          // no answer within the call's time
	KindBudget     Kind = "budget"           // the run's calls are used up
	KindSchema     Kind = "invalid_result"   // the result breaks the declared output schema
	KindTooLarge   Kind = "too_large"        // the result is over the size limit
	KindConnection Kind = "connection_lost"  // the server went away, or is not there
	KindUnknown    Kind = "unknown_tool"     // no such callable name
	KindArguments  Kind = "invalid_argument" // the arguments cannot be sent
	KindCancelled  Kind = "cancelled"        // the run ended first
)

// Error is a failed call as a program sees it. Message begins with the
// callable name and says what to do.
type Error struct {
	Tool    string
	Kind    Kind
	Message string
	// Retryable is true when the same call may succeed if made again and
	// making it again cannot repeat an effect.
	Retryable bool
	// Sent is true when the request may have reached the server, so that for a
	// tool that is not read-only the outcome is unknown unless the server
	// answered.
	Sent bool
}

// Error returns Message.
func (e *Error) Error() string { return e.Message }

// OutcomeUnknown reports whether the call may have had an effect although it
// failed: it was sent, and no answer of the server tells what became of it.
func (e *Error) OutcomeUnknown() bool {
	return e.Sent && (e.Kind == KindTimeout || e.Kind == KindConnection || e.Kind == KindCancelled)
}

// Errorf makes an Error whose message is the callable name, a colon and the
// formatted text.
func Errorf(name string, kind Kind, format string, args ...any) *Error {
	return &Error{Tool: name, Kind: kind, Message: name + ": " + fmt.Sprintf(format, args...)}
}

// AsError returns err as an *Error; an error of another type becomes a
// KindProtocol one, so that nothing reaches a program unclassified.
func AsError(name string, err error) *Error {
	var te *Error
	if errors.As(err, &te) {
		return te
	}
	return Errorf(name, KindProtocol, "%v", err)
}

// Server is the state of one configured server as programs, clients and
// doctor see it.
type Server struct {
	// Name is the server's name as configured.
	Name string
	// Connected is true while its session is up.
	Connected bool
	// Connecting is true until the first attempt to connect has ended.
	Connecting bool
	// Tools counts its callable tools, after filters.
	Tools int
	// Error is why it is not connected, in one line; empty otherwise.
	Error string
}

// Bounds of a search: how many tools it shows when none is asked for, and at
// most; and the bytes of its query.
const (
	DefaultFound = 10
	MaxFound     = 50
	MaxQuery     = 1000
)

// MaxInspected bounds the tools that one call of inspect_tool describes.
const MaxInspected = 50

// Values of the detail argument of list_callable_tools, and of the format
// argument of inspect_tool.
const (
	DetailNames      = "names"
	DetailSignatures = "signatures"
	FormatJSON       = "json"
	FormatPython     = "python"
)

// Listed is one callable tool in a line, as lists and searches show it.
type Listed struct {
	// Name is the callable name.
	Name string `json:"name"`
	// Server is its server's name as configured.
	Server string `json:"server"`
	// Signature is how a program calls it, in one line.
	Signature string `json:"signature"`
	// Summary is the first sentence of its description; it may be empty.
	Summary string `json:"description"`
}

// SearchResult is what a search found.
type SearchResult struct {
	// Tools are the best ones, the best first.
	Tools []Listed `json:"tools"`
	// Total counts the tools that match at all, Searched those that were
	// looked at.
	Total    int `json:"total"`
	Searched int `json:"searched"`
}

// Module is one tool in the tree of wrapper files: servers/<server>/<Name>.py.
type Module struct {
	// Name is the tool's part of its callable name, Callable the whole.
	Name, Callable string
	// Summary is the first sentence of its description.
	Summary string
}
