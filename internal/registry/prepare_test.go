package registry

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// waits reports for how long Prepare waits for a server "my-server" that never
// settles, and how long for one that settles after a second. Another server,
// with a tool known_tool, is connected.
func waits(t *testing.T, source string) (named bool, guessed bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		slow := newConnecting("my-server")
		r := newRegistry(t, Options{}, newFake("fast", connectedTools...), slow)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		r.Prepare(ctx, source)
		switch waited := time.Since(began); waited {
		case 0:
		case guessWait:
			guessed = true
		case time.Minute:
			named = true
		default:
			t.Errorf("waited %v", waited)
		}
	})
	return named, guessed
}

var connectedTools = named("known_tool")

func TestARunWaitsOnlyForServersItsProgramNames(t *testing.T) {
	for _, source := range []string{
		`await mcp__my_server__get(id=1)`,
		`x = servers.my_server.get(id=1)`,
		"from servers.my_server import get\n",
		"from servers import fast, my_server\n",
		`await call("mcp__my-server__get-user")`,
		`inspect_tool(tool_name="my-server.get")`,
		`inspect_tool(tool_name='''my_server__get''')`,
		`getattr(servers, "my-server")`,
		`print(f"{await mcp__my_server__get()}")`,
		`print(open("servers/my_server/get.py").read())`,
		`os.listdir("./servers/my_server")`,
	} {
		if named, _ := waits(t, source); !named {
			t.Errorf("no wait for %s", source)
		}
	}
	for _, source := range []string{
		`print(1)`,
		``,
		"# mcp__my_server__get\nprint('my-server is slow')",
		"import json, asyncio\nasync def main(cb):\n    cb(json.loads('1'))\nasyncio.run(main(print))\n",
		"class A(Exception): pass\nraise A(str(max(1, len([2]))))\n",
		"from math import *\nprint(sqrt(2))\n",
		"from math import sqrt as root\nprint(root(2))\nf = lambda g: g(1)\nf(abs)\n",
		`print(await known_tool())`,
		`print(await mcp__fast__known_tool(), await mcp__fast__other())`,
		`print(await servers.fast.known_tool())`,
		"for i, job in enumerate([1]):\n    if (i): emit(server_status())\n    match (i):\n        case 1: pass",
		"x = '''unclosed\nquery(1)",
		`open("servers.txt"); print("servers/fast")`,
		"print('it\\'s query(1)') # query(2)",
	} {
		if named, guessed := waits(t, source); named || guessed {
			t.Errorf("a wait for %s", source)
		}
	}
	for _, source := range []string{
		`rows = json.loads(await query_database({"sql": "x"}))`,
		"print(1)\nawait other_tool()\n",
		"print(list_callable_tools())", // all that will be there is meant
		`print(os.listdir("servers"))`,
		`print(open(f"servers/{s}/get.py").read())`,
	} {
		if named, guessed := waits(t, source); named || !guessed {
			t.Errorf("no bounded wait for %s", source)
		}
	}
}

func TestAProgramGetsTheToolsOfTheServerItWaitedFor(t *testing.T) {
	for _, source := range []string{`await mcp__slow__query()`, `await query()`} {
		synctest.Test(t, func(t *testing.T) {
			slow := newConnecting("slow")
			hanging := newConnecting("hanging")
			r := newRegistry(t, Options{}, slow, hanging)
			time.AfterFunc(time.Second, func() { slow.up(named("query")...) })
			began := time.Now()
			table := r.Prepare(t.Context(), source)
			if !strings.Contains(string(table.Wire), "mcp__slow__query") || time.Since(began) != time.Second {
				t.Errorf("%s: got %s after %v", source, table.Wire, time.Since(began))
			}
		})
	}
}

func TestAServerThatFailedIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newConnecting("s")
		s.down(errors.New("no such file"))
		began := time.Now()
		newRegistry(t, Options{}, s).Prepare(t.Context(), "await mcp__s__x()")
		if time.Since(began) != 0 {
			t.Errorf("waited %v", time.Since(began))
		}
	})
}

// lateNews is a server that has settled but has not told its listeners yet.
type lateNews struct{ *fakeServer }

func (lateNews) OnChange(func()) {}

func TestASettledServersToolsAreThereEvenBeforeItsNews(t *testing.T) {
	s := lateNews{newConnecting("s")}
	r, err := New([]Server{s}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.up(named("x", "y")...)
	s.answers(`{}`)
	if table := r.Prepare(t.Context(), "print(1)"); !strings.Contains(string(table.Wire), "mcp__s__x") {
		t.Errorf("got %s", table.Wire)
	}
	s.up(named("z")...)
	if _, err := r.CallTool(t.Context(), "mcp__s__z", nil); err != nil {
		t.Error(err)
	}
}

func FuzzReadingAProgramEnds(f *testing.F) {
	for _, s := range []string{"", "'", `"""`, "r'\\'", "f\"{x('", "\\", "#", "x(\xff(", "def f(): pass\nf()"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		p := readProgram(source)
		for _, name := range p.unbound {
			if !slices.Contains(p.identifiers, name) {
				t.Errorf("%q is no identifier of the program", name)
			}
		}
	})
}
