package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// The tools by which a client finds out what a program may call. They wait for
// servers that are connecting as a program does that lists the tools, or names
// one: a client that asks right after the start means theirs too.

func (s *Server) listCallableTools(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args, err := readArguments(request)
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	detail, err := args.choice(toolList, "detail", tool.DetailNames, tool.DetailSignatures)
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	server, err := args.optional(toolList, "server", "")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	s.catalog.Prepare(ctx, tool.ListCallableTools+"()")
	var text string
	if server == "" && detail == tool.DetailNames {
		text = s.fitNames(s.catalog.Names())
	} else {
		list, err := s.catalog.List(server)
		if err != nil {
			return mcp.NewToolResultError(fmt.Sprintf("%s: %v", toolList, err)), nil
		}
		if detail == tool.DetailSignatures {
			text = s.fitLines(list)
		} else {
			names := make([]string, len(list))
			for i, t := range list {
				names[i] = t.Name
			}
			text = s.fitNames(names)
		}
	}
	return s.withMissing(text, server == "" || text == "" || text == "[]"), nil
}

func (s *Server) searchTools(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args, err := readArguments(request)
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	query, err := args.text(toolSearch, "query", `what the tool should do, for example {"query": "list open issues"}`)
	if err == nil && len(query) > tool.MaxQuery {
		err = fmt.Errorf("%s: the argument %q has %d bytes; describe one tool in a few words, at most %d", toolSearch, "query", len(query), tool.MaxQuery)
	}
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	limit, err := args.count(toolSearch, "limit", tool.DefaultFound, tool.MaxFound)
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	server, err := args.optional(toolSearch, "server", "")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	s.catalog.Prepare(ctx, tool.SearchTools+"()")
	found, err := s.catalog.Search(query, limit, server)
	if err != nil {
		return mcp.NewToolResultError(fmt.Sprintf("%s: %v", toolSearch, err)), nil
	}
	return s.withMissing(s.fitLines(found.Tools)+summarize(found), server == "" || found.Searched == 0), nil
}

// summarize ends the text of a search.
func summarize(found tool.SearchResult) string {
	switch {
	case found.Searched == 0:
		return "No tools are callable at present."
	case found.Total == 0:
		return fmt.Sprintf("None of %d tools matches; use other words, or %s.", found.Searched, toolList)
	}
	return fmt.Sprintf("\n%d of %d that match, among %d tools.", len(found.Tools), found.Total, found.Searched)
}

func (s *Server) inspectTool(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args, err := readArguments(request)
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	names, several, err := args.names(toolInspect, "tool_name",
		`a name from search_tools or list_callable_tools, for example {"tool_name": "mcp__github__list_issues"}`, tool.MaxInspected)
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	format, err := args.choice(toolInspect, "format", tool.FormatJSON, tool.FormatPython)
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	s.catalog.Prepare(ctx, quoted(names))
	var texts []string
	var unknown []error
	for _, name := range names {
		text, err := s.inspect(name, format)
		if err != nil {
			unknown = append(unknown, err)
			continue
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return mcp.NewToolResultError(errors.Join(unknown...).Error()), nil
	}
	text := strings.Join(texts, "\n")
	if several && format == tool.FormatJSON {
		text = "[" + strings.Join(texts, ",\n") + "]"
	}
	result := mcp.NewToolResultText(text)
	if len(unknown) > 0 {
		result.Content = append(result.Content, mcp.NewTextContent(errors.Join(unknown...).Error()))
	}
	return result, nil
}

// quoted is a program that names the tools and does nothing.
func quoted(names []string) string {
	lines := make([]string, len(names))
	for i, name := range names {
		lines[i] = strconv.Quote(name)
	}
	return strings.Join(lines, "\n")
}

func (s *Server) inspect(name, format string) (string, error) {
	if format == tool.FormatPython {
		return s.catalog.Stub(name)
	}
	description, err := s.catalog.Inspect(name)
	return string(description), err
}

// maxLine bounds one tool's line, in bytes; the signature is cut first.
const (
	maxSignature = 320
	maxSummary   = 160
)

// line shows a tool as Python does: how it is called, and as a comment what it
// is for.
func line(t tool.Listed) string {
	signature := t.Signature
	if len(signature) > maxSignature {
		cut := strings.ToValidUTF8(signature[:maxSignature], "")
		if i := strings.LastIndex(cut, ", "); i > len(t.Name) {
			cut = cut[:i+len(", ")]
		}
		signature = cut + "...)"
	}
	if t.Summary == "" {
		return signature + "\n"
	}
	return signature + "  # " + shorten(t.Summary, maxSummary*4) + "\n"
}

// fitLines shows the tools a line each, as many as the bound of a result takes.
func (s *Server) fitLines(list []tool.Listed) string {
	var b strings.Builder
	for i, t := range list {
		l := line(t)
		if s.opts.MaxOutputBytes > 0 && b.Len()+len(l) > s.opts.MaxOutputBytes {
			fmt.Fprintf(&b, "… and %d more; find them with %s, or ask for one server\n", len(list)-i, toolSearch)
			break
		}
		b.WriteString(l)
	}
	return b.String()
}

// fitNames is a JSON array of the names, as many as the bound of a result takes.
func (s *Server) fitNames(names []string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(append([]string{}, names...)); err != nil { // cannot happen: strings
		return "[]"
	}
	text := strings.TrimSpace(b.String())
	if s.opts.MaxOutputBytes <= 0 || len(text) <= s.opts.MaxOutputBytes {
		return text
	}
	end := strings.LastIndex(text[:s.opts.MaxOutputBytes], `",`) + 1
	shown := strings.Count(text[:end], `",`) + 1
	return fmt.Sprintf("%s]\n%d of %d names; find the others with %s, or ask for one server", text[:end], shown, len(names), toolSearch)
}

// withMissing is a text and, if it speaks of all servers, after it those whose
// tools it cannot hold, and the notes.
func (s *Server) withMissing(text string, all bool) *mcp.CallToolResult {
	result := mcp.NewToolResultText(text)
	if !all {
		return result
	}
	for _, note := range []string{missingServers(s.catalog.Servers()), s.notes()} {
		if note != "" {
			result.Content = append(result.Content, mcp.NewTextContent(note))
		}
	}
	return result
}

// notes joins the notes there are, within bounds; empty when there are none.
func (s *Server) notes() string {
	if s.opts.Notes == nil {
		return ""
	}
	var lines []string
	for _, note := range s.opts.Notes() {
		if len(lines) == maxNotes {
			break
		}
		lines = append(lines, shorten(note, maxServerReasonBytes))
	}
	return strings.Join(lines, "\n")
}

// Bounds of the note about servers that are not connected, and of the others.
const (
	maxMissingServers    = 50
	maxServerReasonBytes = 300
	maxNotes             = 20
)

// missingServers says in one line a server which of them are not connected or
// could not say what their tools are, and why; empty when all could.
func missingServers(servers []tool.Server) string {
	var lines []string
	missing := 0
	for _, s := range servers {
		if s.Connected && s.Error == "" {
			continue
		}
		if missing++; missing > maxMissingServers {
			continue
		}
		name := shorten(s.Name, maxServerNameBytes)
		switch {
		case s.Connecting:
			lines = append(lines, name+": still connecting; a program that names its tools waits for it")
		case s.Error == "":
			lines = append(lines, name+": down")
		case s.Connected:
			lines = append(lines, name+": "+shorten(s.Error, maxServerReasonBytes))
		default:
			lines = append(lines, name+": down: "+shorten(s.Error, maxServerReasonBytes))
		}
	}
	if missing == 0 {
		return ""
	}
	if more := missing - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return "Servers whose tools are not listed:\n" + strings.Join(lines, "\n")
}
