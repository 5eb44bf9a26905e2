package integration

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// A client library that others use reads the tools as files, completes their
// names, and is told when they change.
func TestAClientLibraryReadsTheTreeOfTools(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	writeFile(t, path, (&configuration{sandbox: "none"}).test("t", "-change").String())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := mcpclient.NewClient(transport.NewStdio(ptcMCP, nil, "serve", "--config", path))
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	heard := make(chan string, 16)
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		uri, _ := n.Params.AdditionalFields["uri"].(string)
		heard <- strings.TrimSpace(n.Method + " " + uri)
	})
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion = mcp.ProtocolVersion20260728
	hello.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	if _, err := c.Initialize(ctx, hello); err != nil {
		t.Fatal(err)
	}

	var uris []string
	resources, err := c.ListResources(ctx, mcp.ListResourcesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range resources.Resources {
		uris = append(uris, r.URI)
	}
	if want := []string{"ptc://servers", "ptc://servers/t"}; !slices.Equal(uris, want) {
		t.Errorf("listed: %q", uris)
	}
	read := func(uri string) string {
		t.Helper()
		var request mcp.ReadResourceRequest
		request.Params.URI = uri
		result, err := c.ReadResource(ctx, request)
		if err != nil || len(result.Contents) != 1 {
			t.Fatalf("%s: %v", uri, err)
		}
		text, _ := result.Contents[0].(mcp.TextResourceContents)
		return text.Text
	}
	if text := read("ptc://servers/t"); !strings.Contains(text, "ptc://servers/t/add.py\t") {
		t.Errorf("the server: %s", text)
	}
	if text := read("ptc://servers/t/add.py"); !strings.Contains(text, "async def add(\n    *,\n    a: ") {
		t.Errorf("the tool: %s", text)
	}

	var complete mcp.CompleteRequest
	complete.Params.Ref = mcp.ResourceReference{Type: "ref/resource", URI: "ptc://servers/{server}/{tool}.py"}
	complete.Params.Argument = mcp.CompleteArgument{Name: "tool", Value: "ad"}
	complete.Params.Context = mcp.CompleteContext{Arguments: map[string]string{"server": "t"}}
	completion, err := c.Complete(ctx, complete)
	if err != nil || !slices.Contains(completion.Completion.Values, "add") {
		t.Errorf("completion: %+v, %v", completion, err)
	}

	stop, err := c.ListenAsync(ctx, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"ptc://servers/t"}}, func(err error) {
		if ctx.Err() == nil {
			t.Errorf("listening: %v", err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if got := await(t, ctx, heard); got != mcp.MethodNotificationSubscriptionsAcknowledged {
		t.Fatalf("heard %s", got)
	}
	var call mcp.CallToolRequest
	call.Params.Name = "execute_program"
	call.Params.Arguments = map[string]any{"code": "await mcp__t__change(add=\"late\")"}
	if result, err := c.CallTool(ctx, call); err != nil || result.IsError {
		t.Fatalf("%+v, %v", result, err)
	}
	if got := await(t, ctx, heard); got != mcp.MethodNotificationResourceUpdated+" ptc://servers/t" {
		t.Errorf("heard %s", got)
	}
}

func await(t *testing.T, ctx context.Context, heard <-chan string) string {
	t.Helper()
	select {
	case what := <-heard:
		return what
	case <-ctx.Done():
		t.Fatal("nothing was heard")
		return ""
	}
}
