package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// maxErrorText bounds what is passed on of a server's error text, in bytes.
const maxErrorText = 4 << 10

// maxErrorData bounds what is passed on of the data of a JSON-RPC error.
const maxErrorData = 1 << 10

// codeInvalidParams is JSON-RPC's code for arguments that the server refuses.
const codeInvalidParams = -32602

// failed makes an error of a call that the server has answered.
func (e *entry) failed(kind tool.Kind, format string, args ...any) *tool.Error {
	err := tool.Errorf(e.name, kind, format, args...)
	err.Sent = true
	return err
}

// callError puts an error of Server.Call in the program's terms.
func (e *entry) callError(ctx context.Context, err error, took time.Duration) *tool.Error {
	var tooLarge *downstream.TooLargeError
	var rpc *downstream.RPCError
	switch {
	case errors.As(err, &rpc):
		return e.rpcError(rpc)
	case errors.As(err, &tooLarge):
		return e.failed(tool.KindTooLarge, "the server's answer is over the limit of %s; %s", bytesText(tooLarge.Limit), narrow)
	case errors.Is(err, downstream.ErrTooLarge):
		return e.failed(tool.KindTooLarge, "the server's answer is over the size limit; %s", narrow)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(ctx.Err(), context.DeadlineExceeded):
		te := e.failed(tool.KindTimeout, "no answer within %s; %s", took.Round(10*time.Millisecond), e.unknownOutcome())
		te.Retryable = e.repeatable()
		return te
	case errors.Is(err, context.Canceled), ctx.Err() != nil:
		return e.failed(tool.KindCancelled, "cancelled after %s because the run ended; %s", took.Round(10*time.Millisecond), e.unknownOutcome())
	case errors.Is(err, downstream.ErrDown):
		te := tool.Errorf(e.name, tool.KindConnection, "%s", notConnected(e.member.Name(), e.whyDown(err)))
		te.Retryable = true
		return te
	case errors.Is(err, downstream.ErrLost):
		te := e.failed(tool.KindConnection, "the connection to server %q was lost before it answered (%s); %s", e.member.Name(), e.whyDown(err), e.unknownOutcome())
		te.Retryable = e.repeatable()
		return te
	}
	return e.failed(tool.KindProtocol, "%s; the call could not be completed, check what the server expects", clip(err.Error(), maxErrorText))
}

func (e *entry) rpcError(rpc *downstream.RPCError) *tool.Error {
	text := clip(rpc.Message, maxErrorText)
	if len(rpc.Data) > 0 && string(rpc.Data) != "null" {
		text += "; its data: " + clip(string(rpc.Data), maxErrorData)
	}
	if rpc.Code == codeInvalidParams {
		return e.failed(tool.KindArguments, "the server refused the arguments (error %d): %s; call it as await %s", rpc.Code, text, e.input.signature(e.name))
	}
	return e.failed(tool.KindProtocol, "the server answered error %d: %s; the same call will probably fail again, so change it or do without it", rpc.Code, text)
}

// whyDown prefers what the session says of its state to the bare error.
func (e *entry) whyDown(err error) string {
	if status := e.member.Status(); status.Err != nil {
		return firstLine(status.Err.Error(), 300)
	}
	return firstLine(err.Error(), 300)
}

// unknownOutcome says what to make of a call that has no answer.
func (e *entry) unknownOutcome() string {
	switch {
	case e.readOnly():
		return "the tool is read-only, so it is safe to call it again"
	case e.repeatable():
		return "the tool is idempotent, so it is safe to make the same call again"
	}
	return "whether it took effect is unknown, so check before calling it again"
}

// badResult is for an answer that is no CallToolResult a program can be given.
func (e *entry) badResult(err error) *tool.Error {
	if errors.Is(err, errTooDeep) {
		return e.failed(tool.KindSchema, "the result is nested deeper than %d levels; ask for less or for a flatter form", maxDepth)
	}
	return e.failed(tool.KindProtocol, "the server's answer is not a tool result (%v); the server is at fault, do without this tool", err)
}

// errorResult is for an answer with isError.
func (e *entry) errorResult(res *result) *tool.Error {
	text := res.errorText()
	if text == "" {
		text = "it gave no reason"
	}
	return e.failed(tool.KindResult, "the server reported an error: %s\nCheck the arguments against %s, or catch ToolError.", text, e.input.signature(e.name))
}

// errorText joins the texts of an error result, or takes its structured
// content, and bounds them.
func (r *result) errorText() string {
	var text []byte
	for _, t := range r.texts() {
		if len(text) > maxErrorText {
			break
		}
		if len(text) > 0 {
			text = append(text, '\n')
		}
		text = append(text, unquote(t)...)
	}
	if len(text) == 0 {
		text = r.structured
	}
	return clip(string(text), maxErrorText)
}

const narrow = "ask for less (a filter, fewer fields, a page or a range) or raise execution.max_tool_result_bytes"

func (e *entry) tooLarge(err error) *tool.Error {
	var size *sizeError
	if !errors.As(err, &size) {
		return e.failed(tool.KindTooLarge, "%v; %s", err, narrow)
	}
	return e.failed(tool.KindTooLarge, "the result has %s, the limit is %s; %s", bytesText(size.size), bytesText(size.limit), narrow)
}

// bytesText is a size as people read it, exact for small ones.
func bytesText(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%d bytes (%.1f MiB)", n, float64(n)/(1<<20))
	case n >= 10<<10:
		return fmt.Sprintf("%d bytes (%.0f KiB)", n, float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
