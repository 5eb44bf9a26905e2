package pystub

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAPackageIsSortedAndStable(t *testing.T) {
	tools := []Tool{
		{Callable: "mcp__b__get", Server: "b", Name: "get"},
		{Callable: "mcp__a__Get", Server: "a", Name: "Get"},
		{Callable: "mcp__a____init__", Server: "a", Name: "__init__"},
		{Callable: "mcp__a__get", Server: "a", Name: "get"},
	}
	files := Package(tools, "c")
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
		if !strings.HasPrefix(f.Text, Marker+"\n") {
			t.Errorf("%s has no marker", f.Path)
		}
	}
	want := []string{
		"servers/__init__.py", "servers/a/Get.py", "servers/a/__init__.py", "servers/a/__init___.py", "servers/a/get_.py",
		"servers/b/__init__.py", "servers/b/get.py", "servers/py.typed",
	}
	if !slices.Equal(paths, want) {
		t.Errorf("got %q\nwant %q", paths, want)
	}
	slices.Reverse(tools)
	if again := Package(tools, "c"); !slices.Equal(files, again) {
		t.Error("another order of the tools gives another package")
	}
	if !strings.Contains(files[0].Text, "from . import a as a\nfrom . import b as b\nfrom . import c as c\n") {
		t.Error(files[0].Text)
	}
}

func TestAPackageIsStrictlyTyped(t *testing.T) {
	dir := t.TempDir()
	for _, f := range Package(append(realTools(t), oddTools()...)) {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, path, f.Text)
	}
	write(t, filepath.Join(dir, "use.py"), `import servers
from servers.filesystem import read_text_file, ReadTextFileResult
from servers.github.list_issues import list_issues

async def main() -> None:
    result: ReadTextFileResult = await servers.filesystem.read_text_file(path="x")
    print(result["content"].upper(), await list_issues(owner="a", repo="b"), read_text_file)
`)
	if out := mypy(t, dir, "use.py", "servers"); !strings.HasPrefix(out, "Success") {
		t.Error(out)
	}
}
