package integration

import (
	"slices"
	"strings"
	"testing"
)

func TestProgramsReadResourcesAndPrompts(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		c := serve(t, on(t, kind).everything().memory(t).limit("max_tool_calls", 12).String())
		got := c.output(`
resources = await list_resources()
print(sorted({r["server"] for r in resources}), sorted(r["uriTemplate"] for r in resources if "uriTemplate" in r))
uri = next(r["uri"] for r in resources if r.get("uri", "").endswith("features.md"))
text = await read_resource(uri)
print(type(text).__name__, "everything" in text.lower())
part, = await read_resource({"uri": "demo://resource/dynamic/blob/1", "server": "everything"})
print(sorted(part))
print(sorted(p["name"] for p in await list_prompts(server="everything"))[:2])
prompt = await get_prompt("args-prompt", {"city": "Paris"})
print(prompt["messages"][0]["content"]["text"])
try:
    await read_resource(uri="demo://nothing", server="everything")
except ToolError as error:
    print(error.tool, error.kind)
try:
    await list_prompts(server="memory")
except ToolError as error:
    print(error)
for _ in range(9):
    try:
        await list_prompts()
    except ToolError as error:
        print(error.kind)
`)
		want := []string{
			"['everything', 'memory'] ['demo://resource/dynamic/blob/{resourceId}', 'demo://resource/dynamic/text/{resourceId}']",
			"str True", "['blob', 'mimeType', 'uri']", "['args-prompt', 'completable-prompt']", "What's weather in Paris?",
			"read_resource invalid_argument", `list_prompts: server "memory" offers no prompts`,
			"budget", "budget", "budget", "budget",
		}
		if lines := strings.Split(strings.TrimSpace(got), "\n"); !slices.Equal(lines, want) {
			t.Errorf("printed\n%s\nwant\n%s", got, strings.Join(want, "\n"))
		}
	})
}
