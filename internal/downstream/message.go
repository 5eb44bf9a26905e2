package downstream

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// envelope is the outline of one JSON-RPC message.
type envelope struct {
	id     json.RawMessage // nil or "null" in a notification
	method string
	params json.RawMessage
	result json.RawMessage
	err    json.RawMessage
}

func (e envelope) hasID() bool { return len(e.id) > 0 && string(e.id) != "null" }

// parseMessages calls handle with each message in data: one, or the several of
// a batch. Bytes that are not UTF-8 become U+FFFD, since nothing after this
// decodes the text again.
func parseMessages(data []byte, handle func(envelope)) error {
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '[' {
		env, err := parseEnvelope(data)
		if err != nil {
			return err
		}
		handle(env)
		return nil
	}
	var batch []envelope
	var first error
	err := scanArray(data, func(value json.RawMessage) {
		env, err := parseEnvelope(value)
		if err != nil && first == nil {
			first = err
		}
		batch = append(batch, env)
	})
	if err != nil {
		return err
	}
	if first != nil {
		return first
	}
	for _, env := range batch {
		handle(env)
	}
	return nil
}

func parseEnvelope(data []byte) (envelope, error) {
	var env envelope
	err := scanObject(data, func(key string, value json.RawMessage) {
		switch key {
		case "id":
			env.id = value
		case "method":
			_ = json.Unmarshal(value, &env.method) // not a string: no method
		case "params":
			env.params = value
		case "result":
			env.result = value
		case "error":
			env.err = value
		}
	})
	return env, err
}

// idKey is how a raw id is looked up. Some servers echo a number as a string.
func idKey(raw string) string { return strings.Trim(strings.TrimSpace(raw), `"`) }

// response is what a server answered: a result, or an error.
type response struct {
	result json.RawMessage
	err    *RPCError
}

func (e envelope) response() response {
	if e.err != nil && string(e.err) != "null" {
		return response{err: parseRPCError(e.err)}
	}
	return response{result: e.result}
}

// parseRPCError reads an error object leniently: some servers send a bare
// string, or a code that is not an integer.
func parseRPCError(raw json.RawMessage) *RPCError {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return &RPCError{Code: -32603, Message: text}
	}
	e := &RPCError{Code: -32603}
	err := scanObject(raw, func(key string, value json.RawMessage) {
		switch key {
		case "code":
			var code float64
			if json.Unmarshal(value, &code) == nil {
				e.Code = int(code)
			}
		case "message":
			_ = json.Unmarshal(value, &e.Message)
		case "data":
			e.Data = bytes.Clone(value)
		}
	})
	if err != nil || e.Message == "" {
		e.Message = string(raw)
	}
	return e
}
