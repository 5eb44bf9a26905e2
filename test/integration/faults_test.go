package integration

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestFault01OutputThatIsNotText(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		c := serve(t, on(t, kind).String())
		for code, want := range map[string]string{
			`print("\ud800")`:                         `\ud800` + "\n",
			`import os; os.write(1, b"a\xff\xfeb\n")`: "a\uFFFDb\n",
			`import subprocess, sys; subprocess.run([sys.executable, "-Sc", "import os; os.write(2, bytes([195, 40]))"])`: "\uFFFD(",
			`import sys; sys.stderr.write("err\n"); print("out")`:                                                         "err\nout\n",
			`print("\x00\x1b[31m\u2028end")`:                                                                              "\x00\x1b[31m\u2028end\n",
			`import sys; sys.stdout.buffer.write(b"raw\n"); print("cooked")`:                                              "raw\ncooked\n",
			`import os; print("a"); os.fork() or (print("b"), os._exit(0)); os.wait(); print("c")`:                        "a\nb\nc\n",
		} {
			if got := c.output(code); got != want {
				t.Errorf("%s\ngave %q, want %q", code, got, want)
			}
		}
		for _, code := range []string{`emit("\ud800")`, `emit({"\ud800": "\udfff x"})`, `raise ValueError("\ud800")`} {
			c.execute(code)
			c.isWell()
		}
	})
}

func TestFault02AListOfAFastMCPServerIsAPlainList(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		c := serve(t, on(t, kind).test("t", "echo").String())
		if got := c.output("print(await mcp__t__list_items())"); !strings.HasPrefix(got, "[{") || strings.Contains(got, "_notes") {
			t.Errorf("printed %s", got)
		}
	})
}

func TestFault03AServerKilledInMidCallComesBack(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		c := serve(t, on(t, kind).test("t", "-die-on-call", "increment", "echo").String())
		got := c.output(`
try:
    await mcp__t__increment()
except ToolError as e:
    print(e.kind, e.retryable, e.tool)
`)
		if got != "connection_lost False mcp__t__increment\n" {
			t.Errorf("printed %q", got)
		}
		// The list alone may be from before the loss was noticed.
		eventually(t, "the server is back", func() bool {
			return strings.Count(c.stderr.String(), "msg=connected server=t") > 1 &&
				strings.Contains(c.callTool("list_callable_tools", nil).Text[0], "mcp__t__echo")
		})
		if got := c.output(`print(await mcp__t__echo(message="back"))`); got != "back\n" {
			t.Errorf("printed %q", got)
		}
		r := c.fails("await mcp__t__echo(message='x')\nawait mcp__t__increment()", "exception", "")
		if !slices.Contains(r.Structured.ToolCalls.Unknown, "mcp__t__increment") || !strings.Contains(r.Text[0], "[outcome unknown, check before repeating: mcp__t__increment]") {
			t.Errorf("no receipt:\n%s", r.Text[0])
		}
	})
}

// A server that never answers delays neither initialize nor a program that does
// not name it; one that does is told what is wrong.
func TestFault05AServerThatNeverAnswers(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		for _, mode := range []string{"-hang-initialize", "-hang-list"} {
			t.Run(mode, func(t *testing.T) {
				config := on(t, kind).test("silent", mode, "echo").test("good", "echo")
				config.servers[0] += "    connect_timeout_seconds: 4\n    list_timeout_seconds: 4\n"
				c := start(t, config.String())
				c.initialize()
				if strings.Contains(c.stderr.String(), "timed out") {
					t.Error("initialize was answered only after the silent server's deadline")
				}
				if got := c.output(`print(await mcp__good__echo(message="here"))`); got != "here\n" {
					t.Errorf("printed %q", got)
				}
				r := c.execute(`await mcp__silent__echo(message="x")`)
				if !r.IsError || !strings.Contains(strings.Join(r.Text, ""), "mcp__silent__echo") {
					t.Errorf("result: %s", r.Text)
				}
				eventually(t, "the list says why it is missing", func() bool {
					list := c.callTool("list_callable_tools", nil)
					return len(list.Text) == 2 && strings.Contains(list.Text[1], "silent")
				})
			})
		}
	})
}

func TestFault06WhatWasPrintedIsAlwaysReturned(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		c := serve(t, on(t, kind).test("t", "echo").limit("timeout_seconds", 5).String())
		for name, test := range map[string]struct{ code, kind string }{
			"an exception":     {"print('kept')\n1/0", "exception"},
			"a crash":          {"print('kept')\nimport ctypes\nctypes.string_at(0)", "died"},
			"an exit":          {"print('kept')\nimport sys\nsys.exit(3)", "exit"},
			"a time-out":       {"print('kept', end='')\nimport time\ntime.sleep(60)", "timeout"},
			"a thread's crash": {"print('kept')\nimport threading, os\nt = threading.Thread(target=lambda: os._exit(9)); t.start(); t.join()", "died"},
		} {
			t.Run(name, func(t *testing.T) { c.fails(test.code, test.kind, "kept") })
		}
	})
}

func TestFault07EverythingIsCapped(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		c := serve(t, on(t, kind).test("t", "echo").limit("max_output_bytes", 8192).limit("max_tool_calls", 2000).String())
		for name, code := range map[string]string{
			"an error's text":    "raise ValueError('x' * 2_000_000)",
			"a deep traceback":   "def f(n): return f(n + 1)\nf(0)",
			"a result":           "emit('x' * 4000)\nprint('y' * 100_000)",
			"a trace":            "import asyncio\nawait asyncio.gather(*(mcp__t__fail(every=1) for _ in range(1000)), return_exceptions=True)",
			"escapes":            "print('\\x00' * 100_000)\nemit('<' * 3000)",
			"an exception group": "raise ExceptionGroup('g' * 5000, [ValueError('v' * 5000) for _ in range(100)]) if 'ExceptionGroup' in dir(__builtins__) else ValueError('v' * 100_000)",
		} {
			t.Run(name, func(t *testing.T) {
				r := c.execute(code)
				// Text and structured content are each within the cap; JSON
				// escapes and the envelope come on top of the text.
				if n := len(strings.Join(r.Text, "")); n > 8192 {
					t.Errorf("%d bytes of text", n)
				}
				if r.size > 8192*7+2048 {
					t.Errorf("%d bytes in all", r.size)
				}
			})
		}
		r := c.execute("emit('x' * 100_000)")
		if !r.IsError || !strings.Contains(r.Text[0], "emit") {
			t.Errorf("an emit value over the limit: %v %.300s", r.IsError, r.Text[0])
		}
	})
}

func TestFault10TheCatalogueFollowsTheServer(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		c := serve(t, on(t, kind).test("t", "echo", "-change").String())
		listed := func() bool {
			return strings.Contains(c.callTool("list_callable_tools", nil).Text[0], "mcp__t__added")
		}
		c.output("await mcp__t__change()")
		eventually(t, "the new tool is listed", listed)
		if got := c.output("print(await mcp__t__added())"); strings.TrimSpace(got) == "" {
			t.Errorf("printed %q", got)
		}
		c.output("await mcp__t__change()")
		eventually(t, "it is gone again", func() bool { return !listed() })
		c.fails("await mcp__t__added()", "check", "")
	})
}

func TestFault11CallsInFlightAtTheEndAreOnRecord(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		c := serve(t, on(t, kind).test("t", "echo").String())
		r := c.execute(`
import asyncio
t = asyncio.create_task(mcp__t__sleep(seconds=60))
await mcp__t__echo(message="x")
raise ValueError("stop")
`)
		if tally := r.Structured.ToolCalls; tally.Total != 2 || tally.Cancelled != 1 {
			t.Errorf("calls %+v", tally)
		}
	})
}

func TestFault14NamesThatAreNoIdentifiers(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		c := serve(t, on(t, kind).test("my-server.v2", "echo").String())
		var names []string
		if err := json.Unmarshal([]byte(c.output("import json\nprint(json.dumps(list_callable_tools()))")), &names); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"mcp__my_server_v2__get_user_v2", "mcp__my_server_v2__a_b", "mcp__my_server_v2__a_b_2"} {
			if !slices.Contains(names, want) {
				t.Errorf("%s is not among %v", want, names)
			}
		}
		var code strings.Builder
		for _, name := range names {
			fmt.Fprintf(&code, "assert %s.__name__ == %q\n", name, name)
		}
		c.output(code.String())
		if got := c.output("print(await mcp__my_server_v2__a_b(), await mcp__my_server_v2__a_b_2())"); strings.TrimSpace(got) == "" || strings.Fields(got)[0] == strings.Fields(got)[1] {
			t.Errorf("a-b and a_b are one: %q", got)
		}
	})
}

func TestFault21WhatIsBlockedIsNeitherListedNorCallable(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		c := serve(t, on(t, kind).test("t", "echo").filter(`block: ["mcp__t__inc*"]`).String())
		got := c.output(`
names = list_callable_tools()
print("mcp__t__echo" in names, "mcp__t__increment" in names)
print("mcp__t__increment" in globals())
`)
		if got != "True False\nFalse\n" {
			t.Errorf("printed %q", got)
		}
		r := c.fails("print('never')\nawait mcp__t__increment()", "check", "")
		if strings.Contains(r.Structured.Output, "never") {
			t.Error("the program ran before its names were checked")
		}
	})
}

func TestFault22TheLogShowsTheProgramAndItsCalls(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		c := serve(t, on(t, kind).test("t", "echo").String())
		source := "await mcp__t__echo(message='x')\ntry:\n    await mcp__t__fail(every=1)\nexcept ToolError:\n    pass"
		c.output(source)
		eventually(t, "the log has the run's end", func() bool { return strings.Contains(c.stderr.String(), "run ended") })
		log := c.stderr.String()
		started := regexp.MustCompile(`msg="run starts" run=(\w+) source_sha256=(\w+)`).FindStringSubmatch(log)
		if started == nil || started[2] != fmt.Sprintf("%x", sha256.Sum256([]byte(source))) {
			t.Fatalf("no line for the start of the run: %q", started)
		}
		for _, want := range []string{
			`msg=call run=` + started[1] + ` tool=mcp__t__echo status=ok`,
			`msg=call run=` + started[1] + ` tool=mcp__t__fail status=failed`,
			`msg="run ended" run=` + started[1] + ` ok=true`,
		} {
			if !strings.Contains(log, want) {
				t.Errorf("the log lacks %q", want)
			}
		}
	})
}

func TestFault24ConcurrentRunsKeepTheirOutputApart(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		c := serve(t, on(t, kind).test("t", "echo").String())
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				_, answer := c.send("tools/call", map[string]any{"name": "execute_program", "arguments": map[string]any{
					"code": fmt.Sprintf("for i in range(200): print(await mcp__t__echo(message='%d'))", i),
				}})
				// The budget is 100: the program fails, and keeps what is its own.
				select {
				case m := <-answer:
					r := c.parse(m.Result)
					if want := strings.Repeat(fmt.Sprintf("%d\n", i), 100); r.Structured.Output != want {
						t.Errorf("run %d printed %d bytes that are not its own", i, len(r.Structured.Output))
					}
				case <-time.After(patience):
					t.Errorf("run %d was not answered", i)
				}
			})
		}
		group.Wait()
	})
}

func TestAThousandCallsOfWhichFiftyFail(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		c := serve(t, on(t, kind).test("t", "echo").limit("max_tool_calls", 1000).String())
		got := c.output(`
import asyncio
async def one(i):
    try:
        return await (mcp__t__fail(every=1) if i % 20 == 0 else mcp__t__echo(message=str(i)))
    except ToolError as e:
        return e
results = await asyncio.gather(*(one(i) for i in range(1000)))
print(sum(isinstance(r, ToolError) for r in results), sum(r == i for i, r in enumerate(results)))
`)
		if got != "50 950\n" {
			t.Errorf("printed %q", got)
		}
		c.isWell()
	})
}
