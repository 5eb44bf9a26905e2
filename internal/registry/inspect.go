package registry

import (
	"encoding/json"
	"fmt"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// noOutputSchema is the note beside a null output schema.
const noOutputSchema = "the server declares no output schema; call the tool once and look at what it returns"

// Inspect describes one tool, named in any spelling, as a JSON object: name,
// description, inputSchema and outputSchema as the server wrote them (null plus
// a note when it declares no output schema), inferredOutputSchema when there
// were results that tell it, original {server, tool}, and title and annotations
// where there are any. The error is a *tool.Error; for an unknown name it lists
// the nearest ones.
func (r *Registry) Inspect(name string) (json.RawMessage, error) {
	e, err := r.resolve(name)
	if err != nil {
		return nil, err
	}
	return r.describe(e), nil
}

func (r *Registry) describe(e *entry) json.RawMessage {
	out := appendQuoted([]byte(`{"name":`), e.name)
	if e.Title != "" {
		out = appendQuoted(append(out, `,"title":`...), e.Title)
	}
	out = appendQuoted(append(out, `,"description":`...), e.Description)
	out = appendRaw(append(out, `,"inputSchema":`...), e.InputSchema)
	out = appendRaw(append(out, `,"outputSchema":`...), e.OutputSchema)
	if e.output == nil {
		out = r.appendInferred(out, e.name)
	}
	out = appendQuoted(append(out, `,"original":{"server":`...), e.member.Name())
	out = append(appendQuoted(append(out, `,"tool":`...), e.Name), '}')
	out = e.appendAnnotations(out)
	return append(out, '}')
}

// maxInferred bounds the schema of a shape, in bytes.
const maxInferred = 8 << 10

// appendInferred appends what stands for an output schema that is not declared.
func (r *Registry) appendInferred(out []byte, name string) []byte {
	schema, results := r.learnt.schema(name)
	if results == 0 || len(schema) > maxInferred {
		return appendQuoted(append(out, `,"note":`...), noOutputSchema)
	}
	out = append(append(out, `,"inferredOutputSchema":`...), schema...)
	note := fmt.Sprintf("the server declares no output schema; this one is inferred from %d results, so other results may differ", results)
	if results == 1 {
		note = "the server declares no output schema; this one is inferred from 1 result, so other results may differ"
	}
	return appendQuoted(append(out, `,"note":`...), note)
}

func appendRaw(dst, raw []byte) []byte {
	if len(raw) == 0 {
		return append(dst, "null"...)
	}
	return append(dst, raw...)
}

func (e *entry) appendAnnotations(out []byte) []byte {
	separator := `,"annotations":{`
	for _, hint := range []struct {
		name  string
		value *bool
	}{
		{"readOnlyHint", e.ReadOnly},
		{"destructiveHint", e.Destructive},
		{"idempotentHint", e.Idempotent},
		{"openWorldHint", e.OpenWorld},
	} {
		if hint.value == nil {
			continue
		}
		out = appendQuoted(append(out, separator...), hint.name)
		if *hint.value {
			out = append(out, ":true"...)
		} else {
			out = append(out, ":false"...)
		}
		separator = ","
	}
	if separator == "," {
		out = append(out, '}')
	}
	return out
}

// ownFunctions are ptc-mcp's own functions by name, called with an arguments
// object.
var ownFunctions = map[string]func(r *Registry, arguments json.RawMessage) (json.RawMessage, error){
	tool.ListCallableTools: (*Registry).answerList,
	tool.SearchTools:       (*Registry).answerSearch,
	tool.InspectTool:       (*Registry).answerInspect,
	tool.ToolTable: func(r *Registry, arguments json.RawMessage) (json.RawMessage, error) {
		return r.toolTable(arguments)
	},
	tool.Absence:     (*Registry).toolAbsence,
	tool.ToolStub:    (*Registry).toolStub,
	tool.ServerStubs: (*Registry).serverStubs,
	tool.ServerStatus: func(r *Registry, _ json.RawMessage) (json.RawMessage, error) {
		return r.serverStatus(), nil
	},
}

// serverStatus is {server: {connected, tools, error}}, in the order of the
// configuration.
func (r *Registry) serverStatus() json.RawMessage {
	type state struct {
		Connected bool    `json:"connected"`
		Tools     int     `json:"tools"`
		Error     *string `json:"error"`
	}
	out := []byte{'{'}
	for i, s := range r.Servers() {
		st := state{Connected: s.Connected, Tools: s.Tools}
		switch {
		case s.Error != "":
			st.Error = &s.Error
		case s.Connecting:
			connecting := "connecting"
			st.Error = &connecting
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendQuoted(out, s.Name), ':')
		encoded, err := json.Marshal(st)
		if err != nil { // cannot happen: a bool, an int and a string
			encoded = []byte("null")
		}
		out = append(out, encoded...)
	}
	return append(out, '}')
}
