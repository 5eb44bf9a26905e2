//go:build linux

package native

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

func TestFoldersOfADeadHostGoWhenTheirLastProcessHas(t *testing.T) {
	state, err := machineOnce()
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range state.groups { // none for an ordinary user
		// A number that was somebody's once, with a start time that nobody has.
		path := filepath.Join(h.dir, fmt.Sprintf("%s%s.%d.0.%016x", groupPrefix, pidNamespace(), os.Getpid(), os.Getpid()))
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		process := exec.CommandContext(t.Context(), "cat")
		input, err := process.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := process.Start(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "cgroup.procs"), []byte(strconv.Itoa(process.Process.Pid)), 0); err != nil {
			t.Fatal(err)
		}
		busy := hierarchies{h}.sweep()
		if len(busy) != 1 || busy[0] != path {
			t.Errorf("the sweep found %v busy, want %s", busy, path)
		}
		if err := input.Close(); err != nil {
			t.Fatal(err)
		}
		if err := process.Wait(); err != nil {
			t.Fatal(err)
		}
		sweepAgain(busy)
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("the folder is still there: %v", err)
		}
	}
}

func TestAProcessThatHasEndedHasNoStartTime(t *testing.T) {
	process := exec.CommandContext(t.Context(), "cat")
	input, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	pid := process.Process.Pid
	if startTime(pid) == "" {
		t.Error("a living process has no start time")
	}
	exited := openProcess(t, pid)
	if err := input.Close(); err != nil {
		t.Fatal(err)
	}
	gone(t, exited) // and nobody has asked for its end yet
	if started := startTime(pid); started != "" {
		t.Errorf("a dead process that was not waited for has start time %s", started)
	}
	if err := process.Wait(); err != nil {
		t.Fatal(err)
	}
}
