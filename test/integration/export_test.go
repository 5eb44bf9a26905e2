package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The export of real servers' tools, and of a thousand generated ones, passes
// mypy --strict as one package, and so does a program that uses it.
func TestTheExportOfRealServersIsTyped(t *testing.T) {
	dir := t.TempDir()
	config := (&configuration{sandbox: "none"}).everything().filesystem(dir).memory(t).
		stdio("thinking", "node", npmServer("sequential-thinking")).
		test("t", "-tools", "1000")
	writeFile(t, filepath.Join(dir, "config.yaml"), config.String())
	export := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), ptcMCP, append([]string{"tools", "export", "out", "--config", "config.yaml"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
		return string(out)
	}
	if out := export(); !strings.Contains(out, "out: 1") || !strings.Contains(out, " written, 0 removed, 0 unchanged") {
		t.Errorf("the first time: %s", out)
	}
	if out := export("--check"); !strings.HasSuffix(out, " files up to date\n") {
		t.Errorf("the second time: %s", out)
	}
	writeFile(t, filepath.Join(dir, "out", "use.py"), `import servers
from servers.filesystem import read_text_file, ReadTextFileResult
from servers.memory.create_entities import create_entities

async def main() -> None:
    result: ReadTextFileResult = await read_text_file(path="notes.txt", head=5)
    await create_entities(entities=[{"name": "a", "entityType": "note", "observations": [result["content"]]}])
    print(await servers.everything.echo(message="hello"))
    await read_text_file(pth="notes.txt")
`)
	cmd := exec.CommandContext(t.Context(), "mypy", "--strict", "--cache-dir", t.TempDir(), "servers", "use.py")
	cmd.Dir = filepath.Join(dir, "out")
	out, err := cmd.Output()
	if err != nil && len(out) == 0 {
		t.Fatalf("mypy (Debian's package mypy): %v", err)
	}
	var others []string
	for line := range strings.Lines(string(out)) {
		if !strings.Contains(line, "use.py:9: ") && !strings.Contains(line, "note:") {
			others = append(others, line)
		}
	}
	if len(others) != 1 || !strings.HasPrefix(others[0], "Found ") || !strings.Contains(others[0], "in 1 file ") {
		t.Errorf("mypy says:\n%s", tail(string(out), 4000))
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
