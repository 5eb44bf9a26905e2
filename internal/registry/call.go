package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// CallTool calls a tool by its callable name, or by another spelling that begins
// with tool.Prefix, or answers one of ptc-mcp's own functions. The value is raw JSON, in most cases a slice of what the server
// sent. Every error is a *tool.Error. A server that was lost less than 10 seconds
// ago is waited for, and a read-only call whose connection is lost is made once
// more when the server is back within 10 seconds.
func (r *Registry) CallTool(ctx context.Context, name string, arguments json.RawMessage) (json.RawMessage, error) {
	arguments, err := objectArguments(name, arguments)
	if err != nil {
		return nil, err
	}
	if own, ok := ownFunctions[name]; ok {
		return own(r, arguments)
	}
	if value, ok, err := r.callOffer(ctx, name, arguments); ok {
		return value, err
	}
	e, err := r.reach(ctx, name)
	if err != nil {
		return nil, err
	}
	if !tool.Counted(name) {
		// Let through, such a call would escape the run's budget and record.
		return nil, tool.Errorf(name, tool.KindUnknown, "no such tool; call it by its callable name, %s", e.input.signature(e.name))
	}
	return r.callEntry(ctx, e, arguments)
}

// objectArguments takes absent arguments for none and refuses what is no
// object.
func objectArguments(name string, arguments json.RawMessage) (json.RawMessage, error) {
	arguments = bytes.TrimSpace(arguments)
	if len(arguments) == 0 || string(arguments) == "null" {
		return json.RawMessage("{}"), nil
	}
	if arguments[0] != '{' {
		return nil, tool.Errorf(clip(name, maxShownName), tool.KindArguments, "arguments must be an object; pass them by keyword")
	}
	return arguments, nil
}

func (r *Registry) callEntry(ctx context.Context, e *entry, arguments json.RawMessage) (json.RawMessage, error) {
	started := time.Now()
	raw, err := e.send(ctx, func() (json.RawMessage, error) { return e.member.Call(ctx, e.Name, arguments) })
	if err != nil {
		return nil, e.callError(ctx, err, time.Since(started))
	}
	value, err := e.resultValue(raw, r.limit)
	if err == nil && e.output == nil {
		r.learnt.observe(e.name, value)
	}
	return value, err
}

// send makes a call, and once more when the server was lost, is back in time,
// and nothing was sent or the tool is read-only.
func (e *entry) send(ctx context.Context, call func() (json.RawMessage, error)) (json.RawMessage, error) {
	raw, err := call()
	if err == nil || ctx.Err() != nil {
		return raw, err
	}
	if errors.Is(err, downstream.ErrLost) && e.readOnly() && e.member.isBack(ctx, reconnectWait) ||
		errors.Is(err, downstream.ErrDown) && e.member.isBack(ctx, e.member.comeback()) {
		return call()
	}
	return raw, err
}

// resultValue is what the program gets for a raw CallToolResult: a value of at
// most limit bytes, 0 for no limit.
func (e *entry) resultValue(raw json.RawMessage, limit int64) (json.RawMessage, error) {
	res, err := parseResult(raw)
	if err != nil {
		return nil, e.badResult(err)
	}
	if res.isError {
		return nil, e.errorResult(res)
	}
	unwrap := e.output.unwraps()
	if err := checkSize(int64(len(res.structuredValue(unwrap))), limit); err != nil {
		return nil, e.tooLarge(err)
	}
	if err := e.output.check(res.structured); err != nil {
		return nil, e.failed(tool.KindSchema,
			"the result does not match the declared output schema: %v; the call itself was carried out, so do not repeat it for its effect", err)
	}
	value, err := res.value(unwrap, limit)
	if err != nil {
		return nil, e.tooLarge(err)
	}
	return value, nil
}
