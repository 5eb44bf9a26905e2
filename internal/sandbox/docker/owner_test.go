package docker

import (
	"maps"
	"os"
	"testing"
)

func TestTheOwnerOfAContainerIsJudgedBySafeSigns(t *testing.T) {
	me := identity{host: "box/id", boot: "boot", pids: "pid:[1]", pid: 10, started: "100"}
	alive := func(pid int) (string, bool) { return "200", pid == 20 }
	gone := func(int) (string, bool) { return "", true }
	blind := func(int) (string, bool) { return "", false }
	for _, c := range []struct {
		name    string
		change  map[string]string
		started func(int) (string, bool)
		want    verdict
	}{
		{"it is gone", nil, gone, ownerDead},
		{"it lives", nil, alive, ownerUnknown},
		{"its number is another process's now", map[string]string{labelStarted: "150"}, alive, ownerDead},
		{"it cannot be seen", nil, blind, ownerUnknown},
		{"it is on another machine", map[string]string{labelHost: "other"}, gone, ownerUnknown},
		{"it is in another process namespace", map[string]string{labelPIDs: "pid:[2]"}, gone, ownerUnknown},
		{"it is of an earlier boot", map[string]string{labelBoot: "before"}, alive, ownerOfOtherBoot},
		{"its number is no number", map[string]string{labelPID: "x"}, gone, ownerUnknown},
		{"it is not ours", map[string]string{labelOwned: ""}, gone, ownerUnknown},
	} {
		labels := identity{host: me.host, boot: me.boot, pids: me.pids, pid: 20, started: "200"}.labels()
		maps.Copy(labels, c.change)
		if got := me.judge(labels, c.started); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	blindMe := me
	blindMe.started = ""
	if got := blindMe.judge(me.labels(), gone); got != ownerUnknown {
		t.Errorf("where processes cannot be told apart: got %v, want that nothing is known", got)
	}
}

func TestProcessesAreToldApartByTheirStart(t *testing.T) {
	mine, known := processStarted(os.Getpid())
	if self().started == "" {
		return // not on this system, and then nothing is swept
	}
	if !known || mine == "" || mine != self().started {
		t.Errorf("own start is %q, %v, then %q", mine, known, self().started)
	}
	if started, known := processStarted(1 << 30); !known || started != "" {
		t.Errorf("no such process: got %q, %v", started, known)
	}
}

func TestExitStatus(t *testing.T) {
	for _, c := range []struct {
		code        int64
		outOfMemory bool
		want        string
		wantCode    int
		wantSignal  string
	}{
		{0, false, "exited", 0, ""},
		{7, false, "exited", 7, ""},
		{7, true, "exited", 7, ""}, // only a child was out of memory
		{137, true, "out of memory", -1, "SIGKILL"},
		{137, false, "signalled", -1, "SIGKILL"},
		{139, false, "signalled", -1, "SIGSEGV"},
		{159, false, "signalled", -1, "SIGSYS"},
		{128, false, "exited", 128, ""},
		{255, false, "exited", 255, ""},
	} {
		got := exitStatus(c.code, c.outOfMemory)
		if got.Reason.String() != c.want || got.Code != c.wantCode || got.Signal != c.wantSignal {
			t.Errorf("code %d, out of memory %v: got %+v", c.code, c.outOfMemory, got)
		}
	}
}
