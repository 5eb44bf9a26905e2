package pystub

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"sync"
	"testing"
)

// checker is a Python that compiles texts, one after the other, runs them as a
// module, and evaluates the types of what they export.
type checker struct {
	mu  sync.Mutex
	in  io.Writer
	out *bufio.Reader
}

const checkerSource = `
import json, sys, types, typing, warnings
warnings.simplefilter("error")
for line in sys.stdin:
    source = json.loads(line)
    module = sys.modules["stub"] = types.ModuleType("stub")
    try:
        exec(compile(source, "stub.py", "exec"), module.__dict__)
        for name in module.__all__:
            value = getattr(module, name)
            if hasattr(value, "__annotations__"):
                typing.get_type_hints(value)
        answer = ""
    except BaseException as error:
        answer = f"{type(error).__name__}: {error}"
    print(json.dumps(answer), flush=True)
`

func newChecker(t testing.TB, command ...string) *checker {
	t.Helper()
	if len(command) == 0 {
		command = []string{"python3"}
	}
	cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], "-c", checkerSource)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return &checker{in: in, out: bufio.NewReader(out)}
}

// check returns what is wrong with a text, or "".
func (c *checker) check(t testing.TB, source string) string {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	line, err := json.Marshal(source)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	answer, err := c.out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("python has ended: %v", err)
	}
	var fault string
	if err := json.Unmarshal(answer, &fault); err != nil {
		t.Fatal(err)
	}
	return fault
}
