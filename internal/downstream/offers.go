package downstream

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
)

// What a server offers beside tools: resources, their templates, and prompts.
// They are asked for when somebody wants them, and pass through as they are.

// maxOffers bounds a list of resources, templates or prompts.
const maxOffers = 10000

// ListResources returns the raw Resource objects of all pages, at most 10,000;
// none when the server has no resources. Its errors are Call's.
func (s *Session) ListResources(ctx context.Context) ([]json.RawMessage, error) {
	return s.listOffers(ctx, "resources", func(ctx context.Context, conn *connection, cursor mcp.Cursor) error {
		request := mcp.ListResourcesRequest{}
		request.Params.Cursor = cursor
		_, err := conn.client.ListResourcesByPage(ctx, request)
		return err
	})
}

// ListResourceTemplates returns the raw ResourceTemplate objects, as
// ListResources does.
func (s *Session) ListResourceTemplates(ctx context.Context) ([]json.RawMessage, error) {
	return s.listOffers(ctx, "resourceTemplates", func(ctx context.Context, conn *connection, cursor mcp.Cursor) error {
		request := mcp.ListResourceTemplatesRequest{}
		request.Params.Cursor = cursor
		_, err := conn.client.ListResourceTemplatesByPage(ctx, request)
		return err
	})
}

// ListPrompts returns the raw Prompt objects, as ListResources does.
func (s *Session) ListPrompts(ctx context.Context) ([]json.RawMessage, error) {
	return s.listOffers(ctx, "prompts", func(ctx context.Context, conn *connection, cursor mcp.Cursor) error {
		request := mcp.ListPromptsRequest{}
		request.Params.Cursor = cursor
		_, err := conn.client.ListPromptsByPage(ctx, request)
		return err
	})
}

// ReadResource returns the raw ReadResourceResult object. Its errors are
// Call's.
func (s *Session) ReadResource(ctx context.Context, uri string) (json.RawMessage, error) {
	return s.use(ctx, func(conn *connection) (json.RawMessage, error) {
		return conn.ask(ctx, func(ctx context.Context) error {
			request := mcp.ReadResourceRequest{}
			request.Params.URI = uri
			_, err := conn.client.ReadResource(ctx, request)
			return err
		})
	})
}

// GetPrompt returns the raw GetPromptResult object. Its errors are Call's.
func (s *Session) GetPrompt(ctx context.Context, name string, arguments map[string]string) (json.RawMessage, error) {
	return s.use(ctx, func(conn *connection) (json.RawMessage, error) {
		return conn.ask(ctx, func(ctx context.Context) error {
			request := mcp.GetPromptRequest{}
			request.Params.Name, request.Params.Arguments = name, arguments
			_, err := conn.client.GetPrompt(ctx, request)
			return err
		})
	})
}

// Complete returns the raw CompleteResult for the parameters of
// completion/complete. Its errors are Call's.
func (s *Session) Complete(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	request := mcp.CompleteRequest{}
	if err := json.Unmarshal(params, &request.Params); err != nil {
		return nil, fmt.Errorf("parameters of the completion: %w", err)
	}
	return s.use(ctx, func(conn *connection) (json.RawMessage, error) {
		return conn.ask(ctx, func(ctx context.Context) error {
			_, err := conn.client.Complete(ctx, request)
			return err
		})
	})
}

// listOffers reads all pages of a list, whose items are in the member key.
func (s *Session) listOffers(ctx context.Context, key string, send func(context.Context, *connection, mcp.Cursor) error) ([]json.RawMessage, error) {
	var items []json.RawMessage
	cursors := make(map[string]bool)
	next := ""
	for page := 1; ; page++ {
		raw, err := s.use(ctx, func(conn *connection) (json.RawMessage, error) {
			return conn.ask(ctx, func(ctx context.Context) error { return send(ctx, conn, mcp.Cursor(next)) })
		})
		if isMethodNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		next = ""
		var bad error
		if err := scanObject(raw, func(member string, value json.RawMessage) {
			switch member {
			case key:
				items, bad = appendObjects(items, value)
			case "nextCursor":
				_ = json.Unmarshal(value, &next) // null, or nothing we could send
			}
		}); err != nil {
			return nil, fmt.Errorf("result is not an object: %w", err)
		}
		if bad != nil {
			return nil, fmt.Errorf("%s is not an array: %w", key, bad)
		}
		if next == "" {
			return items, nil
		}
		if cursors[next] || page == maxPages || len(items) >= maxOffers {
			s.config.Logger.Warn("stopped reading an endless list", "list", key, "pages", page, "items", len(items))
			return items[:min(len(items), maxOffers)], nil
		}
		cursors[next] = true
	}
}

// appendObjects appends those elements of a JSON array that are objects.
func appendObjects(items []json.RawMessage, array json.RawMessage) ([]json.RawMessage, error) {
	err := scanArray(array, func(item json.RawMessage) {
		if len(item) > 0 && item[0] == '{' {
			items = append(items, item)
		}
	})
	return items, err
}

// offersChanged takes note that a list may have changed.
func (s *Session) offersChanged(method string) {
	s.update(func(st *Status) bool {
		if method == string(mcp.MethodNotificationPromptsListChanged) {
			st.PromptsRevision++
		} else {
			st.ResourcesRevision++
		}
		return true
	})
}
