package registry

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/ptc-mcp/ptc-mcp/internal/pystub"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// PyTool is a tool, named in any spelling, as Python is written from it. Where
// the server declares no output schema, Output is the shape of the results that
// came so far, if any did. The error is a *tool.Error.
func (r *Registry) PyTool(name string) (pystub.Tool, error) {
	e, err := r.resolve(name)
	if err != nil {
		return pystub.Tool{}, err
	}
	return r.pyTool(e), nil
}

// Stub is the wrapper file of a tool, named in any spelling: its signature with
// types, and its description. The error is a *tool.Error.
func (r *Registry) Stub(name string) (string, error) {
	t, err := r.PyTool(name)
	if err != nil {
		return "", err
	}
	return pystub.Stub(t), nil
}

// PyTools are the callable tools of one server, named in any spelling, or with
// "" of all servers that are connected, sorted by callable name. The error is
// a *tool.Error.
func (r *Registry) PyTools(server string) ([]pystub.Tool, error) {
	s := r.current.Load()
	var tools []pystub.Tool
	if server == "" {
		for _, name := range s.names {
			if _, e := s.called(name); e != nil {
				tools = append(tools, r.pyTool(e))
			}
		}
		return tools, nil
	}
	v, err := s.server(server)
	if err != nil {
		return nil, err
	}
	if !v.listed() {
		return nil, v.unavailable(server)
	}
	for _, e := range v.tools.entries {
		tools = append(tools, r.pyTool(e))
	}
	return tools, nil
}

func (r *Registry) pyTool(e *entry) pystub.Tool {
	t := pystub.Tool{
		Callable: e.name, Server: e.member.part, Name: e.part, Title: e.Title, Description: e.Description,
		Input: e.InputSchema, ReadOnly: e.ReadOnly, Destructive: e.Destructive,
	}
	if e.output != nil {
		t.Output = e.OutputSchema
	} else if schema, results := r.learnt.schema(e.name); results > 0 {
		t.Output, t.OutputInferred = schema, true
	}
	return t
}

// toolStub answers tool.ToolStub.
func (r *Registry) toolStub(arguments json.RawMessage) (json.RawMessage, error) {
	text, err := r.Stub(stringMember(arguments, "tool_name"))
	if err != nil {
		return nil, err
	}
	return appendQuoted(nil, text), nil
}

// maxStubs bounds the wrapper files of one answer, in bytes.
const maxStubs = 16 << 20

// serverStubs answers tool.ServerStubs: the wrapper files of one server's
// tools by the tool's part of callable names.
func (r *Registry) serverStubs(arguments json.RawMessage) (json.RawMessage, error) {
	tools, err := r.PyTools(stringMember(arguments, "server"))
	if err != nil {
		return nil, err
	}
	out := []byte{'{'}
	for i, t := range tools {
		if len(out) > maxStubs {
			break
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendQuoted(out, t.Name), ':')
		out = appendQuoted(out, pystub.Stub(t))
	}
	return append(out, '}'), nil
}

// PyServer is the Python identifier of a configured server; "" when there is
// none of that name.
func (r *Registry) PyServer(name string) string {
	for _, v := range r.current.Load().views {
		if v.Name() == name {
			return v.part
		}
	}
	return ""
}

// Folders are the Python identifiers of all configured servers, sorted.
func (r *Registry) Folders() []string {
	views := r.current.Load().views
	parts := make([]string, len(views))
	for i, v := range views {
		parts[i] = v.part
	}
	slices.Sort(parts)
	return parts
}

// Folder lists the tools of a server, which is named by its Python identifier,
// sorted. The error is a *tool.Error when there is no such server, or it is not
// connected.
func (r *Registry) Folder(part string) ([]tool.Module, error) {
	for _, v := range r.current.Load().views {
		if v.part != part {
			continue
		}
		if !v.listed() {
			return nil, v.unavailable(part)
		}
		modules := make([]tool.Module, 0, len(v.tools.entries))
		for _, e := range v.tools.entries {
			modules = append(modules, tool.Module{
				Name: e.part, Callable: e.name, Summary: firstSentence(cmp.Or(e.Description, e.Title), maxSummary),
			})
		}
		return modules, nil
	}
	return nil, tool.Errorf(clip(part, maxShownName), tool.KindArguments, "no such server%s", didYouMean(part, r.Folders()))
}
