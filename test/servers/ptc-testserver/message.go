package main

import (
	"encoding/json"
	"fmt"
)

// request is a JSON-RPC request, or a notification when it has no ID.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// rpcError is a JSON-RPC error.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Codes of JSON-RPC 2.0, section 5.1.
const (
	codeParse          = -32700
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
)

func errorf(code int, format string, args ...any) *rpcError {
	return &rpcError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// resultReply builds a reply around a result, an object, without decoding it.
func resultReply(id json.RawMessage, result []byte, modern bool) []byte {
	reply := make([]byte, 0, len(result)+len(id)+80)
	reply = append(reply, `{"jsonrpc":"2.0","id":`...)
	reply = append(reply, id...)
	reply = append(reply, `,"result":{`...)
	if modern { // a member that 2026-07-28 wants in every result
		reply = append(reply, `"resultType":"complete"`...)
		if len(result) > len("{}") {
			reply = append(reply, ',')
		}
	}
	reply = append(reply, result[1:]...)
	return append(reply, '}')
}

func errorReply(id json.RawMessage, e *rpcError) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	return encode(map[string]any{"jsonrpc": "2.0", "id": id, "error": e})
}

func notification(method string, params any) []byte {
	return encode(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

// encode is json.Marshal for values that cannot fail to encode.
func encode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return data
}
