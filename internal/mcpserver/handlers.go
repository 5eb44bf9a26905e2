package mcpserver

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/ptc-mcp/ptc-mcp/internal/executor"
)

// executeProgram, like every handler, never returns an error: what goes wrong is
// for the model to read, so it travels as a result with isError.
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
