package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	configfiles "github.com/ptc-mcp/ptc-mcp/config"
)

var update = flag.Bool("update", false, "write the golden files anew")

// variables is the environment of the test files.
var variables = map[string]string{
	"PTC_TEST_BIN":       "/opt/bin",
	"PTC_TEST_TOKEN":     "t0ken",
	"PTC_TEST_EMPTY":     "",
	"PTC_TEST_MULTILINE": "first\nsecond",
	"PTC_TEST_FTP":       "ftp://secret.example.com",
}

func lookup(name string) (string, bool) {
	value, ok := variables[name]
	return value, ok
}

func TestValidFilesLoadAsTheirGoldenFilesSay(t *testing.T) {
	for _, file := range testFiles(t, "valid") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			cfg, err := parse(filepath.Base(file), readFile(t, file), lookup)
			if err != nil {
				t.Fatalf("rejected:\n%v", err)
			}
			var got bytes.Buffer
			encoder := json.NewEncoder(&got)
			encoder.SetEscapeHTML(false)
			encoder.SetIndent("", "  ")
			if err := encoder.Encode(cfg); err != nil {
				t.Fatal(err)
			}
			golden(t, file, got.Bytes())
		})
	}
}

func TestInvalidFilesAreRejectedAsTheirGoldenFilesSay(t *testing.T) {
	for _, file := range testFiles(t, "invalid") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			cfg, err := parse(filepath.Base(file), readFile(t, file), lookup)
			if err == nil {
				t.Fatalf("accepted as %+v", cfg)
			}
			text := strings.ReplaceAll(err.Error(), "client_secret", "")
			if strings.Contains(text, "secret") || strings.Contains(text, "t0ken") {
				t.Errorf("the error repeats a secret:\n%s", text)
			}
			golden(t, file, []byte(err.Error()+"\n"))
		})
	}
}

func TestEveryProblemOfAnErrorHasItsPlace(t *testing.T) {
	_, err := parse("x.yaml", []byte("servers:\n  - name: a\nexecution:\n  max_cpus: 0\n"), lookup)
	joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !ok || len(joined.Unwrap()) != 2 {
		t.Fatalf("want two joined problems, got %v", err)
	}
	for i, want := range []Problem{
		{File: "x.yaml", Line: 2, Key: "servers[0]"},
		{File: "x.yaml", Line: 4, Key: "execution.max_cpus"},
	} {
		got, ok := errors.AsType[*Problem](joined.Unwrap()[i])
		if !ok || got.File != want.File || got.Line != want.Line || got.Key != want.Key {
			t.Errorf("problem %d is %+v, want %+v", i, got, want)
		}
	}
}

func TestTheExampleLoadsAsTheDefaults(t *testing.T) {
	cfg, err := parse("", []byte(configfiles.Example), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	if want := Default(); !reflect.DeepEqual(cfg, want) {
		t.Errorf("the example gives\n%+v, the defaults are\n%+v", cfg, want)
	}
}

func TestNoPathGivesTheDefaults(t *testing.T) {
	cfg, err := Load("")
	if err != nil || !reflect.DeepEqual(cfg, Default()) {
		t.Errorf("got %+v, %v", cfg, err)
	}
}

func TestLoadReadsAFileAndTheEnvironment(t *testing.T) {
	t.Setenv("PTC_TEST_TOKEN", "from the environment")
	path := write(t, t.TempDir(), "servers: [{name: a, command: npx, env: {T: '${PTC_TEST_TOKEN}'}}]")
	cfg, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	want := Server{
		Name: "a", Transport: Stdio, Command: "npx", Env: map[string]string{"T": "from the environment"},
		Elicitation: true, ConnectTimeoutSeconds: 30, ListTimeoutSeconds: 30,
	}
	if cfg.Path != path || len(cfg.Servers) != 1 || !reflect.DeepEqual(cfg.Servers[0], want) {
		t.Errorf("got %+v", cfg)
	}
}

func TestWhatIsNoFileIsRejected(t *testing.T) {
	folder := t.TempDir()
	tests := map[string]struct {
		path string
		want string
	}{
		"a folder":                {folder, folder + ": is a folder; name the file in it, such as config.yaml"},
		"a missing file":          {filepath.Join(folder, "none.yaml"), "none.yaml: no such file or directory"},
		"a device":                {os.DevNull, os.DevNull + ": is not a regular file"},
		"a file of over 1 MiB":    {write(t, folder, strings.Repeat("# comment\n", 1<<17)), "is larger than 1 MiB"},
		"a file below a file":     {filepath.Join(write(t, folder, ""), "config.yaml"), "not a directory"},
		"a name with a zero byte": {"a\x00b", "invalid argument"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" && strings.Contains(test.want, "directory") {
				test.want = "configuration: " // the system's own words differ
			}
			cfg, err := Load(test.path)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, %v; want an error with %q", cfg, err, test.want)
			}
		})
	}
}

func TestAnUnreadableFileIsRejected(t *testing.T) {
	path := write(t, t.TempDir(), "servers: []")
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if file, err := os.Open(path); err == nil {
		// A privileged account reads it all the same: then Load must, too.
		_ = file.Close()
		if _, err := Load(path); err != nil {
			t.Errorf("readable, but rejected: %v", err)
		}
		return
	}
	if _, err := Load(path); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v, want a permission error", err)
	}
}

func TestAliasesCannotMakeASmallFileALargeOne(t *testing.T) {
	tests := map[string]string{
		"many aliases of a large server": "servers:\n  - &a {name: a, command: b, args: [" + strings.Repeat("x,", 1000) + "]}\n" +
			strings.Repeat("  - *a\n", 1000),
		"merges of merges": func() string {
			var b strings.Builder
			b.WriteString("servers:\n  - &m0 {name: a, command: b}\n")
			for i := range 40 {
				fmt.Fprintf(&b, "  - &m%d {<<: [*m%d, *m%d]}\n", i+1, i, i)
			}
			return b.String()
		}(),
		"a long list": "tools: {block: [" + strings.Repeat("m*,", maxNodes) + "]}",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parse("x.yaml", []byte(text), lookup)
			if err == nil || !strings.Contains(err.Error(), "more than 100000 values") {
				t.Errorf("got %.200v", err)
			}
		})
	}
}

func FuzzLoad(f *testing.F) {
	for _, folder := range []string{"valid", "invalid"} {
		for _, file := range testFiles(f, folder) {
			f.Add(readFile(f, file))
		}
	}
	f.Add([]byte(configfiles.Example))
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := parse("x.yaml", data, lookup)
		if (cfg == nil) == (err == nil) {
			t.Fatalf("got %v and %v", cfg, err)
		}
		if err == nil {
			return
		}
		joined, ok := errors.AsType[interface {
			error
			Unwrap() []error
		}](err)
		if !ok {
			t.Fatalf("not joined: %v", err)
		}
		line := 1
		for _, err := range joined.Unwrap() {
			problem, ok := errors.AsType[*Problem](err)
			if !ok || problem.Message == "" || problem.Line < line || strings.ContainsRune(problem.Error(), '\n') {
				t.Fatalf("problem %#v after line %d", problem, line)
			}
			line = problem.Line
		}
	})
}

func testFiles(t testing.TB, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files in %s: %v", folder, err)
	}
	return files
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, folder, text string) string {
	t.Helper()
	file, err := os.CreateTemp(folder, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	path := strings.TrimSuffix(file, ".yaml") + ".golden"
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := readFile(t, path); !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestEveryGoldenFileHasItsInput(t *testing.T) {
	files := map[string]bool{}
	for _, folder := range []string{"valid", "invalid"} {
		goldens, err := filepath.Glob(filepath.Join("testdata", folder, "*.golden"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range goldens {
			files[strings.TrimSuffix(path, ".golden")+".yaml"] = true
		}
		for _, path := range testFiles(t, folder) {
			delete(files, path)
		}
	}
	for path := range maps.Keys(files) {
		t.Errorf("%s is gone, its golden file is not", path)
	}
}
