package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// The functions by which a program finds out what it may call.

// request holds the arguments of any of them. Null is an argument left out.
type request struct {
	ToolName json.RawMessage `json:"tool_name"`
	Format   string          `json:"format"`
	Server   string          `json:"server"`
	Detail   string          `json:"detail"`
	Query    string          `json:"query"`
	Limit    float64         `json:"limit"`
}

func readRequest(function string, arguments json.RawMessage) (request, error) {
	var r request
	err := json.Unmarshal(arguments, &r)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		kind := "a string"
		if wrong.Field == "limit" {
			kind = "a number"
		}
		return r, refuse(function, "%s must be %s, not %s", wrong.Field, kind, wrong.Value)
	}
	if err != nil {
		return r, refuse(function, "its arguments are not valid JSON")
	}
	return r, nil
}

func refuse(function, format string, args ...any) error {
	return tool.Errorf(function, tool.KindArguments, format, args...)
}

// answerList answers list_callable_tools(server, detail): an array of names, or
// of objects with the signatures.
func (r *Registry) answerList(arguments json.RawMessage) (json.RawMessage, error) {
	args, err := readRequest(tool.ListCallableTools, arguments)
	if err != nil {
		return nil, err
	}
	if args.Detail != "" && args.Detail != tool.DetailNames && args.Detail != tool.DetailSignatures {
		return nil, refuse(tool.ListCallableTools, `detail must be "names" or "signatures", not %q`, clip(args.Detail, maxShownName))
	}
	if args.Detail == tool.DetailSignatures {
		list, err := r.List(args.Server)
		if err != nil {
			return nil, err
		}
		return encode(list)
	}
	if args.Server == "" {
		return r.current.Load().list(), nil
	}
	list, err := r.List(args.Server)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list))
	for i, t := range list {
		names[i] = t.Name
	}
	return appendStrings(nil, names), nil
}

// answerSearch answers search_tools(query, limit, server): an object with the
// tools and how many there are, and the servers that are not connected.
func (r *Registry) answerSearch(arguments json.RawMessage) (json.RawMessage, error) {
	args, err := readRequest(tool.SearchTools, arguments)
	switch {
	case err != nil:
		return nil, err
	case strings.TrimSpace(args.Query) == "":
		return nil, refuse(tool.SearchTools, `query is missing; call it as await search_tools("list open issues")`)
	case len(args.Query) > tool.MaxQuery:
		return nil, refuse(tool.SearchTools, "query has %d bytes; describe one tool in a few words, at most %d", len(args.Query), tool.MaxQuery)
	case args.Limit < 0:
		return nil, refuse(tool.SearchTools, "limit must be 1 or more, not %v", args.Limit)
	}
	found, err := r.Search(args.Query, int(min(args.Limit, tool.MaxFound)), args.Server)
	if err != nil {
		return nil, err
	}
	missing := map[string]string{}
	for _, s := range r.Servers() {
		if !s.Connected {
			missing[s.Name] = s.Error
			if s.Error == "" {
				missing[s.Name] = "still connecting"
			}
		}
	}
	return encode(struct {
		tool.SearchResult
		Missing map[string]string `json:"not_connected"`
	}{found, missing})
}

// answerInspect answers inspect_tool(tool_name, format): the description of one
// tool, or of an array of them an array, in which an unknown one is an object
// with name and error. In Python a description is a string.
func (r *Registry) answerInspect(arguments json.RawMessage) (json.RawMessage, error) {
	args, err := readRequest(tool.InspectTool, arguments)
	if err != nil {
		return nil, err
	}
	describe := r.Inspect
	switch args.Format {
	case "", tool.FormatJSON:
	case tool.FormatPython:
		describe = r.quotedStub
	default:
		return nil, refuse(tool.InspectTool, `format must be "json" or "python", not %q`, clip(args.Format, maxShownName))
	}
	names, several, err := toolNames(args.ToolName)
	if err != nil {
		return nil, err
	}
	if !several {
		return describe(names[0])
	}
	descriptions := make([][]byte, len(names))
	known := 0
	var first error
	for i, name := range names {
		if descriptions[i], err = describe(name); err == nil {
			known++
			continue
		}
		if first == nil {
			first = err
		}
		description := appendQuoted([]byte(`{"name":`), clip(name, maxShownName))
		descriptions[i] = append(appendQuoted(append(description, `,"error":`...), err.Error()), '}')
	}
	if known == 0 {
		return nil, first
	}
	return slices.Concat([]byte{'['}, bytes.Join(descriptions, []byte{','}), []byte{']'}), nil
}

// toolNames reads a string or an array of strings.
func toolNames(raw json.RawMessage) (names []string, several bool, err error) {
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		return []string{one}, false, nil
	}
	if json.Unmarshal(raw, &names) != nil || len(names) == 0 {
		return nil, false, refuse(tool.InspectTool, `tool_name must be a name or a list of names; call it as await inspect_tool(tool_name="…")`)
	}
	if len(names) > tool.MaxInspected {
		return nil, true, refuse(tool.InspectTool, "%d names are too many; pass at most %d at a time", len(names), tool.MaxInspected)
	}
	return names, true, nil
}

// quotedStub is a tool's Python as a JSON string.
func (r *Registry) quotedStub(name string) (json.RawMessage, error) {
	text, err := r.Stub(name)
	if err != nil {
		return nil, err
	}
	return appendQuoted(nil, text), nil
}

// encode is json.Marshal that leaves < and > as they are.
func encode(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
