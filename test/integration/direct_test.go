package integration

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestRealToolsPassThroughToTheClient needs no sandbox: no program runs.
func TestRealToolsPassThroughToTheClient(t *testing.T) {
	c := serve(t, on(t, "none").everything().test("changing", "-change").
		filter(`direct: ["mcp__everything__*", "mcp__changing__added"]`).filter(`block: ["*__get_env"]`).String())

	tools := names(t, c.request("tools/list", map[string]any{}), "tools", "name")
	for name, want := range map[string]bool{
		"execute_program": true, "mcp__everything__get_tiny_image": true,
		"mcp__everything__get_env": false, "mcp__changing__change": false, "mcp__changing__added": false,
	} {
		if slices.Contains(tools, name) != want {
			t.Errorf("%s is offered: %v, want %v; the list is %v", name, !want, want, tools)
		}
	}
	image := string(c.request("tools/call", map[string]any{"name": "mcp__everything__get_tiny_image"}))
	if !strings.Contains(image, `"type":"image"`) || !strings.Contains(image, `"mimeType":"image/png"`) {
		t.Errorf("the image came as %.200s", image)
	}
	wrong := string(c.request("tools/call", map[string]any{"name": "mcp__everything__echo", "arguments": map[string]any{}}))
	if !strings.Contains(wrong, `"isError":true`) {
		t.Errorf("wrong arguments came to %.300s", wrong)
	}
	slow := map[string]any{
		"name": "mcp__everything__trigger_long_running_operation", "arguments": map[string]any{"duration": 0.2, "steps": 2},
		"_meta": map[string]any{"progressToken": "mine"},
	}
	c.request("tools/call", slow)
	progress := 0
	for _, n := range c.Notifications() {
		if n.Method == "notifications/progress" && strings.Contains(string(n.Params), `"progressToken":"mine"`) && strings.Contains(string(n.Params), `"total":2`) {
			progress++
		}
	}
	if progress != 2 {
		t.Errorf("%d progress notifications, want 2: %v", progress, c.Notifications())
	}

	resources := names(t, c.request("resources/list", map[string]any{}), "resources", "uri")
	i := slices.IndexFunc(resources, func(uri string) bool { return strings.HasSuffix(uri, "features.md") })
	if i < 0 {
		t.Fatalf("resources %v", resources)
	}
	if text := string(c.request("resources/read", map[string]any{"uri": resources[i]})); !strings.Contains(text, `"text":"# Everything`) {
		t.Errorf("a resource came as %.300s", text)
	}
	if text := string(c.request("resources/read", map[string]any{"uri": "demo://resource/dynamic/text/3"})); !strings.Contains(text, "Resource 3") {
		t.Errorf("a resource of a template came as %.300s", text)
	}
	if prompts := names(t, c.request("prompts/list", map[string]any{}), "prompts", "name"); !slices.Contains(prompts, "mcp__everything__args-prompt") {
		t.Errorf("prompts %v", prompts)
	}
	prompt := string(c.request("prompts/get", map[string]any{"name": "mcp__everything__args-prompt", "arguments": map[string]any{"city": "Paris"}}))
	if !strings.Contains(prompt, "weather in Paris") {
		t.Errorf("a prompt came as %s", prompt)
	}

	complete := func(ref map[string]any, name, value string) string {
		return string(c.request("completion/complete", map[string]any{"ref": ref, "argument": map[string]any{"name": name, "value": value}}))
	}
	if got := complete(map[string]any{"type": "ref/prompt", "name": "mcp__everything__completable-prompt"}, "department", "Eng"); !strings.Contains(got, `"Engineering"`) {
		t.Errorf("an argument of a prompt was completed with %s", got)
	}
	if got := complete(map[string]any{"type": "ref/resource", "uri": "demo://resource/dynamic/text/{resourceId}"}, "resourceId", "1"); !strings.Contains(got, `"values":["1"`) {
		t.Errorf("a variable of a template was completed with %s", got)
	}

	// The server's list changes, and the client is told.
	told := func() (times int) {
		for _, n := range c.Notifications() {
			if n.Method == "notifications/tools/list_changed" {
				times++
			}
		}
		return times
	}
	before := told()
	c.execute(`await mcp__changing__change()`)
	eventually(t, "the client is told that the list of tools has changed", func() bool { return told() > before })
	if tools := names(t, c.request("tools/list", map[string]any{}), "tools", "name"); !slices.Contains(tools, "mcp__changing__added") {
		t.Errorf("the added tool is not offered: %v", tools)
	}
}

// names are one member of each object in a result's array.
func names(t *testing.T, result json.RawMessage, array, member string) []string {
	t.Helper()
	var lists map[string]json.RawMessage
	var items []map[string]any
	if err := json.Unmarshal(result, &lists); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(lists[array], &items); err != nil {
		t.Fatalf("%v in %s", err, result)
	}
	var found []string
	for _, item := range items {
		name, _ := item[member].(string)
		found = append(found, name)
	}
	return found
}
