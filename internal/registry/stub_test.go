package registry

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

func TestToolsAsPython(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)
	output := json.RawMessage(`{"type":"object","properties":{"size":{"type":"integer"}},"required":["size"]}`)
	gone := newFake("gone", named("x")...)
	r := newRegistry(t, Options{Block: []string{"*_hidden"}},
		newFake("my-server", downstream.Tool{Name: "get-size", InputSchema: schema, OutputSchema: output}, downstream.Tool{Name: "hidden"}),
		gone, newFake("a", named("z", "y")...))
	gone.down(nil)

	stub, err := r.Stub("my-server.get-size")
	if err != nil || !strings.Contains(stub, "async def get_size(\n    *,\n    path: str,\n) -> GetSizeResult:") {
		t.Errorf("%v\n%s", err, stub)
	}
	tools, err := r.PyTools("")
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Server+"."+tool.Name)
	}
	if want := []string{"a.y", "a.z", "my_server.get_size"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("got %v, %v, want %v", names, err, want)
	}

	value, err := r.CallTool(context.Background(), tool.ToolStub, json.RawMessage(`{"tool_name":"mcp__my_server__get_size"}`))
	var text string
	if err != nil || json.Unmarshal(value, &text) != nil || text != stub {
		t.Errorf("tool_stub: %v, %s", err, value)
	}
	value, err = r.CallTool(context.Background(), tool.ServerStubs, json.RawMessage(`{"server":"a"}`))
	var stubs map[string]string
	if err != nil || json.Unmarshal(value, &stubs) != nil || !slices.Equal(slices.Sorted(maps.Keys(stubs)), []string{"y", "z"}) {
		t.Errorf("server_stubs: %v, %s", err, value)
	}
	for name, arguments := range map[string]string{
		tool.ToolStub:    `{"tool_name":"mcp__my_server__hidden"}`,
		tool.ServerStubs: `{"server":"gone"}`,
	} {
		if value, err := r.CallTool(context.Background(), name, json.RawMessage(arguments)); err == nil {
			t.Errorf("%s %s: got %s, want an error", name, arguments, value)
		}
	}
}
