package integration

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestResultsAtAndOverTheLimit(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		t.Run("64 MB pass when the limit allows", func(t *testing.T) {
			c := serve(t, on(t, kind).test("t", "echo").limit("max_tool_result_bytes", "80MiB").limit("max_memory_bytes", "1GiB").String())
			if got := c.output("x = await mcp__t__blob(size=64_000_000)\nprint(len(x))"); got != "64000000\n" {
				t.Errorf("printed %q", got)
			}
		})
		t.Run("over the limit they are an error and not read", func(t *testing.T) {
			c := serve(t, on(t, kind).test("t", "echo").limit("max_tool_result_bytes", "1MiB").String())
			c.output("print(1)")
			before := residentBytes(t, c.Cmd.Process.Pid, "VmHWM:")
			got := c.output(`
try:
    await mcp__t__blob(size=100_000_000)
except ToolError as e:
    print(e.kind)
print(len(await mcp__t__blob(size=1000)))
`)
			if got != "too_large\n1000\n" {
				t.Errorf("printed %q", got)
			}
			if grown := residentBytes(t, c.Cmd.Process.Pid, "VmHWM:") - before; grown > 60<<20 {
				t.Errorf("the host grew by %d MiB for a result of 95 MiB it did not take", grown>>20)
			}
		})
	})
}

// residentBytes reads a memory figure of a process, such as VmRSS or its peak,
// VmHWM (proc_pid_status(5)).
func residentBytes(t *testing.T, pid int, key string) int {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), key); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatalf("no %s in the status of process %d", key, pid)
	return 0
}
