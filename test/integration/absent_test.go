package integration

import (
	"strings"
	"testing"
)

func TestAProgramIsToldWhyAToolIsNotThere(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		c := serve(t, on(t, kind).test("t", "-change", "-die-on-call", "increment").stdio("never", "/nowhere/no-such-server").String())
		inspected := func() string {
			return c.callTool("inspect_tool", map[string]any{"tool_name": "mcp__t__added"}).Text[0]
		}
		c.output("await mcp__t__change()")
		eventually(t, "the added tool has come", func() bool { return strings.Contains(inspected(), "Added later.") })
		c.output("await mcp__t__change()")
		eventually(t, "the added tool has gone", func() bool { return strings.Contains(inspected(), "withdrew") })
		for _, refused := range []struct{ program, want string }{
			{"await mcp__never__post()", `mcp__never__post: server "never" is not connected (`},
			{"await servers.never.post()", `server "never" is not connected (`},
			{"from servers.never import post", `no such file`},
			{"await mcp__t__added()", `mcp__t__added: server "t" withdrew this tool from its list `},
			{"await servers.t.added()", `withdrew this tool`},
			{"await mcp__t__ehco()", `there is no tool mcp__t__ehco; nearest: mcp__t__echo(message)`},
		} {
			r := c.execute("print('ran')\n" + refused.program)
			if r.Structured.Failure == nil || r.Structured.Failure.Kind != "check" || r.Structured.Failure.Line != 2 ||
				r.Structured.Output != "" || !strings.Contains(r.Text[0], refused.want) {
				t.Errorf("%s came to\n%s", refused.program, r.Text[0])
			}
		}

		// Who names a server that was lost a moment ago waits for it.
		lose := "try:\n    await mcp__t__increment()\nexcept ToolError as e:\n    print(e.kind)\n"
		const back = "print(await mcp__t__echo(message='back'))"
		if got := c.output(lose + back); got != "connection_lost\nback\n" {
			t.Errorf("in the program that lost it: %q", got)
		}
		if got := c.output(lose); got != "connection_lost\n" {
			t.Errorf("printed %q", got)
		}
		if got := c.output(back); got != "back\n" {
			t.Errorf("in the next program: %q", got)
		}
		c.output(lose)
		if r := c.callTool("inspect_tool", map[string]any{"tool_name": "mcp__t__echo"}); r.IsError {
			t.Errorf("inspect_tool: %s", r.Text)
		}
	})
}
