// Package executor owns one run of a program: it takes a sandbox, sends the
// program down the channel, answers the calls that come back within the run's
// budget, keeps what was printed, and says how it ended.
//
// It knows no MCP, no concrete backend and no server: tools are reached through
// the one-method ToolCaller.
package executor

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// ToolCaller calls a tool by its callable name, or one of ptc-mcp's own
// functions (tool.ListCallableTools, …). The returned value is raw JSON and
// must not be changed afterwards by either side. An error should be a
// *tool.Error; any other is shown to the program as a protocol error.
// Cancelling ctx cancels the request at the server.
type ToolCaller interface {
	CallTool(ctx context.Context, name string, arguments json.RawMessage) (json.RawMessage, error)
}

// Limits bound one run. Every field must be positive.
type Limits struct {
	// Timeout bounds the run's wall-clock time, from Run to the program's end.
	Timeout time.Duration
	// ToolCallTimeout bounds one call.
	ToolCallTimeout time.Duration
	// MaxToolCalls bounds the calls of servers' tools in one run.
	MaxToolCalls int
	// MaxConcurrentCalls bounds the calls under way at once; more wait.
	MaxConcurrentCalls int
	// MaxToolResultBytes bounds one result value.
	MaxToolResultBytes int64
	// MaxOutputBytes bounds everything of one run that goes to the model.
	MaxOutputBytes int

	// MemoryBytes, CPUs, Processes, ScratchBytes and OpenFiles go to the
	// sandbox.
	MemoryBytes  int64
	CPUs         float64
	Processes    int
	ScratchBytes int64
	OpenFiles    int
}

// Request is one program to run.
type Request struct {
	// Source is the program.
	Source string
	// Filename is how tracebacks name it; empty means "<program>".
	Filename string
	// Tools is the catalogue as it is offered to this run.
	Tools tool.Table
	// Timeout replaces Limits.Timeout when it is positive and smaller.
	Timeout time.Duration
	// Output, if set, receives what the program prints as it comes, without
	// the cap. A write error is ignored.
	Output io.Writer
	// OnProgress, if set, is called when calls start and end, from one
	// goroutine at a time. It must not block.
	OnProgress func(Progress)
}

// Progress counts a run's calls so far.
type Progress struct {
	Started, Finished, Failed int
	// Last is the callable name that started or ended last.
	Last string
}

// Outcome is how a run ended, with everything it leaves behind.
type Outcome struct {
	// ID identifies the run in logs: 12 hex digits.
	ID string
	// OK is true when the program ended by itself without an error.
	OK bool
	// Output is what the program printed: valid UTF-8, at most MaxOutputBytes,
	// with the middle left out and counted when it was more.
	Output string
	// Result is the last emit value, or nil if there was none.
	Result json.RawMessage
	// Error says why the run failed; nil when OK.
	Error *Failure
	// Calls are the calls of servers' tools, in the order they were made; of
	// those refused because the budget was used up, the first few.
	Calls []Call
	// Refused counts the calls refused because the budget was used up.
	Refused int
	// Figures are the run's measures.
	Figures Figures

	output text // what Output was rendered from
}

// FailureKind classifies a failed run.
type FailureKind string

// The kinds of a failed run. The first four, and memory when Python raised a
// MemoryError, come from the runner and can be trusted no more than the
// program; the others are the host's own.
const (
	FailException FailureKind = "exception"
	FailExit      FailureKind = "exit"
	FailSyntax    FailureKind = "syntax"
	FailCheck     FailureKind = "check"

	FailTimeout   FailureKind = "timeout"
	FailMemory    FailureKind = "memory"
	FailCancelled FailureKind = "cancelled"
	FailProtocol  FailureKind = "protocol"
	FailDied      FailureKind = "died" // the sandbox ended before the program said it was done
	FailSandbox   FailureKind = "sandbox_unavailable"
)

// Failure says why a run failed.
type Failure struct {
	Kind FailureKind `json:"kind"`
	// Message is ready to print: a traceback where there is one, and what to
	// do next where that is known.
	Message string `json:"message"`
	// Line is the program's line, 0 if unknown.
	Line int `json:"line,omitempty"`
	// ExitCode is the code of sys.exit; 0 when the program did not call it.
	ExitCode int `json:"exit_code,omitempty"`
}

// CallStatus says how a call ended.
type CallStatus string

// How a call ended.
const (
	CallOK        CallStatus = "ok"
	CallFailed    CallStatus = "failed"
	CallCancelled CallStatus = "cancelled" // still under way when the run ended
	CallRefused   CallStatus = "refused"   // never sent: budget, unknown tool, bad arguments
)

// Call is the record of one call.
type Call struct {
	Tool     string        `json:"tool"`
	Status   CallStatus    `json:"status"`
	Kind     tool.Kind     `json:"kind,omitempty"`
	Error    string        `json:"error,omitempty"`
	Duration time.Duration `json:"-"`
	// ReadOnly is what the server declares; OutcomeUnknown is true when the
	// call may have had its effect although no answer came.
	ReadOnly       bool `json:"read_only,omitempty"`
	OutcomeUnknown bool `json:"outcome_unknown,omitempty"`
}

// Figures are the measures of one run.
type Figures struct {
	// Sandbox is the backend's name.
	Sandbox string
	// Wall is the whole run; Boot is the part until the runner said hello;
	// Tools is the part in which at least one call was under way; the program
	// had the rest.
	Wall, Boot, Tools time.Duration
	// ToolResultBytes went into the sandbox as results; OutputBytes were
	// printed, before the cap.
	ToolResultBytes, OutputBytes int64
}
