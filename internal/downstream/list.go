package downstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	maxPages = 1000
	maxTools = 50000
)

// headerAnnotation marks a parameter that 2026-07-28 wants mirrored into an
// HTTP header. mcp-go's client does that for the tools it has seen.
var headerAnnotation = []byte(`"x-mcp-header"`)

// listTools reads the whole tool list, within ctx. A definition that cannot be
// used is left out with a line in the log; it never costs the others.
func (c *connection) listTools(ctx context.Context) ([]Tool, error) {
	var tools []Tool
	seen := make(map[string]bool)
	cursors := make(map[string]bool)
	request := mcp.ListToolsRequest{}
	for page := 1; ; page++ {
		got, next, err := c.listPage(ctx, request)
		if isMethodNotFound(err) {
			return nil, nil // a server without tools
		}
		if err != nil {
			return nil, fmt.Errorf("tools/list: %w", err)
		}
		for _, t := range got {
			if seen[t.Name] {
				c.config.Logger.Warn("left out a tool: its name is listed twice", "tool", t.Name)
				continue
			}
			seen[t.Name] = true
			if !c.config.offers(t.Name) {
				continue
			}
			tools = append(tools, t)
		}
		if next == "" {
			return tools, nil
		}
		if cursors[next] || page == maxPages || len(tools) >= maxTools {
			c.config.Logger.Warn("stopped reading an endless tool list", "pages", page, "tools", len(tools))
			return tools, nil
		}
		cursors[next] = true
		request.Params.Cursor = mcp.Cursor(next)
	}
}

func (c *connection) listPage(ctx context.Context, request mcp.ListToolsRequest) (tools []Tool, next string, err error) {
	var mirrored []string // the names that mcp-go was shown
	var bad error
	got := &capture{show: func(result json.RawMessage) (json.RawMessage, bool) {
		tools, next, bad = c.parsePage(result)
		var shown json.RawMessage
		shown, mirrored = mirrorable(tools)
		return shown, true
	}}
	kept, err := c.client.ListToolsByPage(withCapture(ctx, got), request)
	switch {
	case got.err != nil:
		return nil, "", got.err
	case err != nil:
		return nil, "", err
	case bad != nil:
		return nil, "", bad
	}
	// It drops those whose annotations break the rules, as the protocol asks.
	for _, name := range mirrored {
		if !slices.ContainsFunc(kept.Tools, func(t mcp.Tool) bool { return t.Name == name }) {
			c.config.Logger.Warn("left out a tool: its x-mcp-header annotations are invalid", "tool", name)
			tools = slices.DeleteFunc(tools, func(t Tool) bool { return t.Name == name })
		}
	}
	return tools, next, nil
}

func (c *connection) parsePage(result json.RawMessage) (tools []Tool, next string, err error) {
	var list json.RawMessage
	if err := scanObject(result, func(key string, value json.RawMessage) {
		switch key {
		case "tools":
			list = value
		case "nextCursor":
			_ = json.Unmarshal(value, &next) // null, or nothing we could send
		}
	}); err != nil {
		return nil, "", fmt.Errorf("result is not an object: %w", err)
	}
	if err := scanArray(list, func(raw json.RawMessage) {
		t, taskOnly, err := parseTool(raw)
		switch {
		case err != nil:
			c.config.Logger.Warn("left out a tool", "error", err, "definition", beginning(raw))
		case taskOnly:
			c.config.Logger.Info("left out a tool: it can only be run as a task, which is not supported", "tool", t.Name)
		default:
			tools = append(tools, t)
		}
	}); err != nil {
		return nil, "", fmt.Errorf("tools is not an array: %w", err)
	}
	return tools, next, nil
}

// parseTool takes what it can of a definition; only a name is needed.
func parseTool(raw json.RawMessage) (t Tool, taskOnly bool, err error) {
	t.Raw = raw
	var annotations, execution json.RawMessage
	err = scanObject(raw, func(key string, value json.RawMessage) {
		switch key {
		case "name":
			_ = json.Unmarshal(value, &t.Name)
		case "title":
			_ = json.Unmarshal(value, &t.Title)
		case "description":
			_ = json.Unmarshal(value, &t.Description)
		case "inputSchema":
			t.InputSchema = unlessNull(value)
		case "outputSchema":
			t.OutputSchema = unlessNull(value)
		case "annotations":
			annotations = value
		case "execution":
			execution = value
		}
	})
	if err != nil {
		return t, false, errors.New("its definition is not an object")
	}
	if t.Name == "" {
		return t, false, errors.New("it has no name")
	}
	_ = scanObject(annotations, func(key string, value json.RawMessage) {
		switch key {
		case "title":
			if t.Title == "" {
				_ = json.Unmarshal(value, &t.Title)
			}
		case "readOnlyHint":
			t.ReadOnly = hint(value)
		case "destructiveHint":
			t.Destructive = hint(value)
		case "idempotentHint":
			t.Idempotent = hint(value)
		case "openWorldHint":
			t.OpenWorld = hint(value)
		}
	})
	_ = scanObject(execution, func(key string, value json.RawMessage) {
		taskOnly = taskOnly || key == "taskSupport" && string(value) == `"`+string(mcp.TaskSupportRequired)+`"`
	})
	return t, taskOnly, nil
}

func unlessNull(value json.RawMessage) json.RawMessage {
	if string(value) == "null" {
		return nil
	}
	return value
}

func hint(value json.RawMessage) *bool {
	var b *bool
	if json.Unmarshal(value, &b) != nil {
		return nil
	}
	return b
}

// mirrorable is the list mcp-go's client is shown: the tools with header
// annotations that it can decode, and of them only what the headers need.
func mirrorable(tools []Tool) (json.RawMessage, []string) {
	type shown struct {
		Name        string          `json:"name"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	list := []shown{}
	var names []string
	for _, t := range tools {
		if !bytes.Contains(t.InputSchema, headerAnnotation) {
			continue
		}
		one := shown{t.Name, t.InputSchema}
		if raw, err := json.Marshal(one); err != nil || json.Unmarshal(raw, &mcp.Tool{}) != nil {
			continue
		}
		list = append(list, one)
		names = append(names, t.Name)
	}
	raw, _ := json.Marshal(map[string]any{"tools": list})
	return raw, names
}
