package runner

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheBundleBootsAndSaysHello(t *testing.T) {
	hello := boot(t, Command(python(t)))
	if hello["type"] != "hello" || hello["protocol"] != float64(1) {
		t.Errorf("first frame is %v, want a hello of protocol 1", hello)
	}
	if hello["runner"] != Hash() {
		t.Errorf("hello names runner %v, want %s", hello["runner"], Hash())
	}
}

func TestTheBundleFitsInOneArgument(t *testing.T) {
	argv := Command("python3")
	if size := len(argv[len(argv)-1]); size >= 112<<10 {
		t.Errorf("bundle has %d bytes, want less than 112 KB", size)
	}
}

func TestTheBundleIsASCIIWithoutNUL(t *testing.T) {
	for i, r := range bundle() {
		if r == 0 || r > 126 {
			t.Fatalf("byte %d of the bundle is %q", i, r)
		}
	}
}

func TestThePrecompiledCopyHasTheSameHash(t *testing.T) {
	dir := t.TempDir()
	out, err := exec.Command(python(t), "precompile.py", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("precompile.py: %v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "runner-"+Hash(), "ptc_runner", "session.py")); err != nil {
		t.Error(err)
	}
	compiled, err := filepath.Glob(filepath.Join(dir, "*", "ptc_runner", "__pycache__", "session.*.pyc"))
	if err != nil || len(compiled) != 1 {
		t.Errorf("compiled modules: %v, %v", compiled, err)
	}
}

func TestAPrecompiledCopyIsUsed(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command(python(t), "precompile.py", dir).CombinedOutput(); err != nil {
		t.Fatalf("precompile.py: %v\n%s", err, out)
	}
	argv := Command(python(t))
	text := strings.Replace(argv[len(argv)-1], "/opt/ptc-mcp/", dir+"/", 1)
	// Only the copy can answer: the bundle's own sources are spoilt.
	argv[len(argv)-1] = strings.Replace(text, "def main(runner_hash", "def spoilt(runner_hash", 1)
	if hello := boot(t, argv); hello["runner"] != Hash() {
		t.Errorf("hello is %v", hello)
	}
}

// boot runs argv and returns the first frame it sends.
func boot(t *testing.T, argv []string) map[string]any {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = t.TempDir()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	frame := make(map[string]any)
	readErr := readFrame(stdout, &frame)
	if err := stdin.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the runner did not end well at the end of its input: %v", err)
	}
	if readErr != nil {
		t.Fatalf("no hello: %v\n%s", readErr, stderr.String())
	}
	return frame
}

func readFrame(r io.Reader, frame any) error {
	var size uint32
	if err := binary.Read(r, binary.BigEndian, &size); err != nil {
		return err
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	return json.Unmarshal(body, frame)
}

func python(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Fatalf("these tests need python3: %v", err)
	}
	return path
}
