package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// Direct is what the client is offered itself, beside this server's own tools:
// tools, resources and prompts of other servers, which pass through as raw JSON.
// Errors are *tool.RPCError, for the client as they are, or *tool.Error.
type Direct interface {
	// DirectTools returns the tools, with their callable names.
	DirectTools(ctx context.Context) []tool.Definition
	// CallDirect returns the raw CallToolResult; ok is false for a tool that is
	// not direct. progress, unless nil, gets the parameters of each progress
	// notification and must not block.
	CallDirect(ctx context.Context, name string, arguments json.RawMessage, progress func(params json.RawMessage)) (raw json.RawMessage, ok bool, err error)

	// DirectOffers tells whether resources and prompts may pass through.
	DirectOffers() (resources, prompts bool)
	// The lists are raw Resource, ResourceTemplate and Prompt objects.
	DirectResources(ctx context.Context) []json.RawMessage
	DirectTemplates(ctx context.Context) []json.RawMessage
	DirectPrompts(ctx context.Context) []json.RawMessage
	// DirectRead returns the raw ReadResourceResult, DirectPrompt the raw
	// GetPromptResult; ok is false when nobody has what is asked for.
	DirectRead(ctx context.Context, uri string) (raw json.RawMessage, ok bool, err error)
	DirectPrompt(ctx context.Context, name string, arguments map[string]string) (raw json.RawMessage, ok bool, err error)
	// DirectComplete returns the raw CompleteResult for the parameters of
	// completion/complete.
	DirectComplete(ctx context.Context, params json.RawMessage) (raw json.RawMessage, ok bool, err error)

	// DirectState changes with what is offered.
	DirectState() tool.DirectState
}

// passage lets requests through to a Direct.
type passage struct {
	Direct
	timeout time.Duration // of one request

	mu    sync.Mutex
	state tool.DirectState // that the clients know of
}

// capabilities are those that the handshake names for what passes through.
func (p *passage) capabilities() []server.ServerOption {
	options := []server.ServerOption{server.WithToolCapabilities(true)}
	resources, prompts := p.DirectOffers()
	if resources {
		options = append(options, server.WithResourceCapabilities(false, true))
	}
	if prompts {
		options = append(options, server.WithPromptCapabilities(true))
	}
	return options
}

// passed is the answer to a request that went through: a raw result or the
// server's error.
type passed struct {
	result json.RawMessage
	err    *tool.RPCError
}

// through answers a request to which this server has no answer of its own; nil
// when nobody has one.
func (p *passage) through(ctx context.Context, method string, params json.RawMessage) *passed {
	ctx, cancel := tool.WithTimeout(ctx, p.timeout)
	defer cancel()
	var asked struct {
		Name      string          `json:"name"`
		URI       string          `json:"uri"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(params, &asked) != nil {
		return nil
	}
	var raw json.RawMessage
	var err error
	ok := false
	switch method {
	case string(mcp.MethodToolsCall):
		raw, ok, err = p.call(ctx, asked.Name, asked.Arguments)
	case string(mcp.MethodResourcesRead):
		raw, ok, err = p.DirectRead(ctx, asked.URI)
	case string(mcp.MethodPromptsGet):
		var arguments map[string]string
		if len(asked.Arguments) > 0 && json.Unmarshal(asked.Arguments, &arguments) != nil {
			return nil
		}
		raw, ok, err = p.DirectPrompt(ctx, asked.Name, arguments)
	case string(mcp.MethodCompletionComplete):
		raw, ok, err = p.DirectComplete(ctx, params)
	}
	if !ok {
		return nil
	}
	if err != nil {
		return &passed{err: rpcError(err)}
	}
	return &passed{result: raw}
}

// call passes a call through. An error that is not the server's own is for the
// model to read, so it becomes a result.
func (p *passage) call(ctx context.Context, name string, arguments json.RawMessage) (raw json.RawMessage, ok bool, err error) {
	var progress func(json.RawMessage)
	if send := senderFrom(ctx); send != nil {
		relay := newRelay(send)
		defer relay.close()
		progress = relay.take
	}
	raw, ok, err = p.CallDirect(ctx, name, arguments, progress)
	var own *tool.Error
	if errors.As(err, &own) {
		raw, err = marshal(mcp.NewToolResultError(own.Message))
	}
	return raw, ok, err
}

func rpcError(err error) *tool.RPCError {
	var rpc *tool.RPCError
	if errors.As(err, &rpc) {
		return rpc
	}
	return &tool.RPCError{Code: mcp.INTERNAL_ERROR, Message: err.Error()}
}

// extend returns what belongs to the answer to a list, and under which member.
func (p *passage) extend(ctx context.Context, method string) (member string, items []json.RawMessage) {
	switch method {
	case string(mcp.MethodToolsList):
		for _, d := range p.DirectTools(ctx) {
			items = append(items, d.Raw)
		}
		return "tools", items
	case string(mcp.MethodResourcesList):
		return "resources", p.DirectResources(ctx)
	case string(mcp.MethodResourcesTemplatesList):
		return "resourceTemplates", p.DirectTemplates(ctx)
	case string(mcp.MethodPromptsList):
		return "prompts", p.DirectPrompts(ctx)
	}
	return "", nil
}

// changes are the lists that differ from what the clients were last told.
func (p *passage) changes() []change {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.state
	p.state = p.DirectState()
	var changed []change
	if p.state.Tools != old.Tools {
		changed = append(changed, toolsChanged)
	}
	if p.state.Resources != old.Resources {
		changed = append(changed, resourcesChanged)
	}
	if p.state.Prompts != old.Prompts {
		changed = append(changed, promptsChanged)
	}
	return changed
}

// passOn completes mcp-go's answer to a request with what passes through, and
// returns it encoded.
func (s *Server) passOn(ctx context.Context, method string, id, line []byte, message mcp.JSONRPCMessage) ([]byte, error) {
	if s.passage == nil {
		return encodeResponse(id, message)
	}
	var request struct {
		Params json.RawMessage `json:"params"`
	}
	switch m := message.(type) {
	case mcp.JSONRPCError:
		if m.Error.Code != mcp.INVALID_PARAMS && m.Error.Code != mcp.RESOURCE_NOT_FOUND {
			break
		}
		if err := json.Unmarshal(line, &request); err != nil {
			return nil, err
		}
		if p := s.passage.through(ctx, method, request.Params); p != nil {
			return encodePassed(id, method, p, isModern(request.Params))
		}
	case mcp.JSONRPCResponse:
		if method == string(mcp.MethodCompletionComplete) && json.Unmarshal(line, &request) == nil {
			// Of what is not this server's own, mcp-go has completed nothing.
			if p := s.passage.through(ctx, method, request.Params); p != nil {
				return encodePassed(id, method, p, isModern(request.Params))
			}
			break
		}
		member, items := s.passage.extend(ctx, method)
		if len(items) == 0 {
			break
		}
		encoded, err := marshal(m.Result)
		if err != nil {
			return nil, err
		}
		result, err := appended(encoded, member, items)
		if err != nil {
			return nil, err
		}
		return marshal(resultResponse{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Result: result})
	}
	return encodeResponse(id, message)
}

// appended adds items to the array in an object's member. A page that is not
// the last one stays as it is.
func appended(object []byte, member string, items []json.RawMessage) (json.RawMessage, error) {
	var result map[string]json.RawMessage
	if err := json.Unmarshal(object, &result); err != nil {
		return nil, err
	}
	if _, more := result["nextCursor"]; more {
		return object, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(result[member], &list); err != nil {
		return nil, err
	}
	var err error
	if result[member], err = marshal(append(list, items...)); err != nil {
		return nil, err
	}
	return marshal(result)
}

// isModern reports whether a request is of protocol 2026-07-28 or later.
func isModern(params json.RawMessage) bool {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	var version string
	return json.Unmarshal(params, &p) == nil &&
		json.Unmarshal(p.Meta[mcp.MetaKeyProtocolVersion], &version) == nil && mcp.IsModernProtocol(version)
}

// encodePassed encodes what passed through. A result for a modern client has
// the members that its protocol wants and the server's may not have known.
func encodePassed(id []byte, method string, p *passed, modern bool) ([]byte, error) {
	if p.err != nil {
		details := mcp.NewJSONRPCErrorDetails(p.err.Code, p.err.Message, nil)
		if p.err.Data != nil {
			details.Data = p.err.Data
		}
		return marshal(failedResponse{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Error: details})
	}
	result := p.result
	if !utf8.Valid(result) {
		// The bytes can only be inside strings, so the JSON stays valid.
		result = bytes.ToValidUTF8(result, []byte("\uFFFD"))
	}
	if modern {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(result, &members); err != nil {
			return nil, err
		}
		add := func(key, value string) {
			if members[key] == nil {
				members[key] = json.RawMessage(value)
			}
		}
		add("resultType", `"`+string(mcp.ResultTypeComplete)+`"`)
		if method == string(mcp.MethodResourcesRead) {
			add("ttlMs", "0")
			add("cacheScope", `"`+string(mcp.CacheScopePrivate)+`"`)
		}
		var err error
		if result, err = marshal(members); err != nil {
			return nil, err
		}
	}
	return marshal(resultResponse{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Result: result})
}
