package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/ptc-mcp/ptc-mcp/internal/executor"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// The handlers never return an error: what goes wrong is for the model to read,
// so it travels as a result with isError.

func (s *Server) listCallableTools(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if _, err := readArguments(request); err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	// A client that lists the tools right after the start means those of the
	// servers that are connecting too, as a program that lists them does.
	s.catalog.Prepare(ctx, tool.ListCallableTools+"()")
	names := s.catalog.Names()
	if names == nil {
		names = []string{}
	}
	list, err := json.Marshal(names)
	if err != nil {
		return mcp.NewToolResultError(fmt.Sprintf("%s: %v", toolList, err)), nil
	}
	result := mcp.NewToolResultText(string(list))
	if note := missingServers(s.catalog.Servers()); note != "" {
		result.Content = append(result.Content, mcp.NewTextContent(note))
	}
	if note := s.notes(); note != "" {
		result.Content = append(result.Content, mcp.NewTextContent(note))
	}
	return result, nil
}

// Bounds of the note about servers that are not connected.
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

func (s *Server) inspectTool(_ context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args, err := readArguments(request)
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	name, err := args.text(toolInspect, "tool_name", `a name from list_callable_tools, for example {"tool_name": "mcp__github__list_issues"}`)
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	description, err := s.catalog.Inspect(name)
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return mcp.NewToolResultText(string(description)), nil
}

func (s *Server) executeProgram(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args, err := readArguments(request)
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	code, err := args.text(toolExecute, "code", `the Python program, for example {"code": "print(1)"}`)
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	timeout, err := args.seconds(toolExecute, "timeout_seconds")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}

	reporter := newProgressReporter(notifierFrom(ctx))
	defer reporter.stop()
	outcome := s.runner.Run(ctx, executor.Request{
		Source:     code,
		Tools:      s.catalog.Prepare(ctx, code),
		Timeout:    timeout,
		OnProgress: reporter.report,
	})
	return &mcp.CallToolResult{
		Content:           []mcp.Content{mcp.NewTextContent(outcome.Text(s.opts.Trace, s.opts.MaxOutputBytes))},
		StructuredContent: outcome.Structured(s.opts.MaxOutputBytes),
		IsError:           !outcome.OK,
	}, nil
}
