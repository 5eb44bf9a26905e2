package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program is what `ptc-mcp run --json` says of a run.
type program struct {
	OK        bool   `json:"ok"`
	Output    string `json:"output"`
	ToolCalls struct {
		Total int `json:"total"`
	} `json:"tool_calls"`
	Figures struct {
		ToolResultBytes int `json:"tool_result_bytes"`
		OutputBytes     int `json:"output_bytes"`
	} `json:"figures"`
}

func TestTheExamplesRun(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		paths, err := filepath.Glob(filepath.Join(repository, "examples/*.py"))
		if err != nil || len(paths) < 5 {
			t.Fatalf("%d examples: %v", len(paths), err)
		}
		for _, path := range paths {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".py"), func(t *testing.T) {
				if p := runExample(t, kind, "examples/config.yaml", path); p.Output == "" || p.ToolCalls.Total == 0 {
					t.Errorf("%d calls, printed %q", p.ToolCalls.Total, p.Output)
				}
			})
		}
	})
}

func TestTheDemoDoesWhatItIsMeantToShow(t *testing.T) {
	inEach(t, func(t *testing.T, kind string) {
		p := runExample(t, kind, "examples/demo/config.yaml", filepath.Join(repository, "examples/demo/program.py"))
		if p.ToolCalls.Total < 20 || strings.Count(p.Output, "\n") != 5 {
			t.Errorf("%d calls, printed\n%s", p.ToolCalls.Total, p.Output)
		}
		if p.Figures.ToolResultBytes < 100*p.Figures.OutputBytes {
			t.Errorf("%d bytes of results for %d printed", p.Figures.ToolResultBytes, p.Figures.OutputBytes)
		}
	})
}

// runExample runs a program with an example's configuration, in the sandbox and
// the image of the test.
func runExample(t *testing.T, kind, config, path string) program {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, config))
	if err != nil {
		t.Fatal(err)
	}
	settings := on(t, kind).String()
	copied := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(copied, append(append(text, '\n'), settings...), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(ptcMCP, "run", "--json", "--config", copied, path)
	cmd.Dir, cmd.Stdout, cmd.Stderr = repository, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			t.Fatal(err)
		}
		t.Fatalf("exit code %d\n%s\n%s", exit.ExitCode(), &stdout, tail(stderr.String(), 4<<10))
	}
	var p program
	if err := json.Unmarshal(stdout.Bytes(), &p); err != nil {
		t.Fatalf("%v: %s", err, &stdout)
	}
	if !p.OK {
		t.Fatalf("failed: %s", &stdout)
	}
	return p
}
