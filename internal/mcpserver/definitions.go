package mcpserver

import (
	"encoding/json"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// The tool definitions are constants: a client pays for them in every
// conversation, so they do not grow with the catalogue.

// definitionsTTL is how long a client may keep the definitions without asking
// again.
const definitionsTTL = time.Hour

// Names of the tools.
const (
	toolList    = tool.ListCallableTools
	toolSearch  = tool.SearchTools
	toolInspect = tool.InspectTool
	toolExecute = "execute_program"
)

func listDefinition() mcp.Tool {
	return mcp.Tool{
		Name:        toolList,
		Title:       "List callable tools",
		Description: "Lists the names of the tools that a program run with execute_program may call, as a sorted JSON array; with many tools use search_tools instead. Servers that are not connected are named after it, with the reason. The names are not tools of this conversation: they can be called only from a program.",
		RawInputSchema: json.RawMessage(`{"type":"object","properties":{` +
			`"server":{"type":"string","description":"Only this server's tools."},` +
			`"detail":{"type":"string","enum":["names","signatures"],"description":"signatures: one line of Python each."}` +
			`}}`),
		Annotations: readOnly("List callable tools"),
	}
}

func searchDefinition() mcp.Tool {
	return mcp.Tool{
		Meta:        hints("find a tool, API or integration of another MCP server"),
		Name:        toolSearch,
		Title:       "Search tools",
		Description: "Finds the tools a program may call that fit a few words, such as \"create issue\" or \"read spreadsheet\", in names, descriptions and parameters. Shows a signature and a sentence each, the best first.",
		RawInputSchema: json.RawMessage(`{"type":"object","properties":{` +
			`"query":{"type":"string","description":"What the tool should do, or its name."},` +
			`"limit":{"type":"integer","minimum":1,"maximum":50,"default":10},` +
			`"server":{"type":"string","description":"Only this server's tools."}` +
			`},"required":["query"]}`),
		Annotations: readOnly("Search tools"),
	}
}

func inspectDefinition() mcp.Tool {
	return mcp.Tool{
		Meta:        hints("parameters and results of a tool"),
		Name:        toolInspect,
		Title:       "Inspect tools",
		Description: "Shows callable tools in full: name, description, inputSchema and outputSchema as JSON, or typed Python. Look at a tool before the first program that calls it, rather than guess its parameters.",
		RawInputSchema: json.RawMessage(`{"type":"object","properties":{` +
			`"tool_name":{"description":"A name such as mcp__github__list_issues, or several.","anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"},"maxItems":50}]},` +
			`"format":{"type":"string","enum":["json","python"]}` +
			`},"required":["tool_name"]}`),
		Annotations: readOnly("Inspect tools"),
	}
}

// hints are what Claude Code reads: that a tool should be at hand without being
// searched for, and words by which its own tool search finds it.
func hints(search string) *mcp.Meta {
	return mcp.NewMetaFromMap(map[string]any{
		"anthropic/alwaysLoad": true,
		"anthropic/searchHint": search,
	})
}

func executeDefinition() mcp.Tool {
	return mcp.Tool{
		Meta:            hints("run a Python program that calls many tools, filter large results"),
		Name:            toolExecute,
		Title:           "Execute a program",
		Description:     executeDescription,
		RawInputSchema:  json.RawMessage(executeInputSchema),
		RawOutputSchema: json.RawMessage(executeOutputSchema),
		Annotations: mcp.ToolAnnotation{
			Title:        "Execute a program",
			ReadOnlyHint: new(false),
			// The program itself can change nothing, but the tools it calls can.
			DestructiveHint: new(true),
			IdempotentHint:  new(false),
			OpenWorldHint:   new(true),
		},
	}
}

func readOnly(title string) mcp.ToolAnnotation {
	return mcp.ToolAnnotation{
		Title:           title,
		ReadOnlyHint:    new(true),
		DestructiveHint: new(false),
		IdempotentHint:  new(true),
		OpenWorldHint:   new(false),
	}
}

const executeDescription = `Runs a Python program that calls MCP tools as async functions and returns only what it prints. Intermediate results stay in the sandbox.

Use it for several calls, loops, joins, or results that are large and need filtering. Do not use it for one or two calls with small results when you can make them directly: that is cheaper. Do not use it to compute what needs no tool.

First find tools with search_tools (list_callable_tools names all: long if there are many) and their parameters with inspect_tool. A program has the same functions: await search_tools("words").

In the program:
- Each tool is a global function: await mcp__<server>__<tool>(param=value). Top-level await works. Results are parsed values (dict, list, str, ...), not JSON text.
- Make independent calls together with asyncio.gather.
- A failed call raises ToolError; its message says what to do.
- Print little: filter, join and count first. emit(value) also returns one JSON value.
- Standard library only. No network, no files of the host; every run starts empty, in its own scratch folder.
- When a run fails, the text says which calls may have changed something. Do not repeat those blindly.

Example:
import asyncio
repos = ["api", "web", "docs"]
pages = await asyncio.gather(*(mcp__github__list_issues(repo=r, state="open") for r in repos))
for repo, issues in zip(repos, pages):
    crashes = [i["number"] for i in issues if "crash" in i["title"].lower()]
    print(repo, len(issues), "open, crashes:", crashes)`

const executeInputSchema = `{"type":"object","properties":{` +
	`"code":{"type":"string","description":"The whole Python program."},` +
	`"timeout_seconds":{"type":"number","exclusiveMinimum":0,"description":"Ends the program sooner than the configured limit."}` +
	`},"required":["code"]}`

// executeOutputSchema describes executor.Structured. It stays open, so that a
// client that validates accepts fields added later.
const executeOutputSchema = `{"type":"object","properties":{` +
	`"ok":{"type":"boolean"},` +
	`"output":{"type":"string","description":"What the program printed."},` +
	`"result":{"description":"The value given to emit, or null."},` +
	`"error":{"type":["string","null"],"description":"Why it failed."},` +
	`"tool_calls":{"type":"object","description":"The calls, counted, and what they may have changed."},` +
	`"failure":{"type":"object","description":"Kind of the error, and its line."},` +
	`"figures":{"type":"object","description":"Times and sizes."}` +
	`},"required":["ok","output","result","error","tool_calls","figures"]}`
