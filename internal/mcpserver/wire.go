package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
)

// Responses are put together here rather than by mcp-go, which decodes an id to
// a float64: the client gets back the very id it sent.

type resultResponse struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result"`
}

type failedResponse struct {
	JSONRPC string                  `json:"jsonrpc"`
	ID      json.RawMessage         `json:"id"`
	Error   mcp.JSONRPCErrorDetails `json:"error"`
}

// encodeResponse encodes mcp-go's answer to the request with the id.
func encodeResponse(id json.RawMessage, message mcp.JSONRPCMessage) ([]byte, error) {
	switch m := message.(type) {
	case mcp.JSONRPCResponse:
		return marshal(resultResponse{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Result: m.Result})
	case mcp.JSONRPCError:
		return marshal(failedResponse{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Error: m.Error})
	}
	return nil, fmt.Errorf("unexpected answer of type %T", message)
}

func errorResponse(id json.RawMessage, code int, message string) []byte {
	encoded, err := marshal(failedResponse{
		JSONRPC: mcp.JSONRPC_VERSION,
		ID:      id,
		Error:   mcp.JSONRPCErrorDetails{Code: code, Message: message},
	})
	if err != nil {
		// The id comes from a message that has been decoded, so this cannot
		// be; the client still gets a valid line.
		return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal error"}}`)
	}
	return encoded
}

// marshal encodes a value on one line, with room for the newline, and without
// escaping <, > and &, which programs and their output are full of.
func marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
