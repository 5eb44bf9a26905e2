package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/native"
)

// The scripts of testdata/script run the command line as a process of its own.
// They need python3, and no Docker engine: DOCKER_HOST points nowhere.

func TestMain(m *testing.M) {
	native.Init()
	testscript.Main(m, map[string]func(){"ptc-mcp": func() {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		os.Exit(Run(ctx, os.Args[1:], Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, "1.2.3"))
	}})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			if err := os.MkdirAll(home, 0o755); err != nil {
				return err
			}
			env.Setenv("HOME", home)
			env.Setenv("PTC_BIN", filepath.SplitList(env.Getenv("PATH"))[0])
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "xdg"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
			env.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
			env.Setenv("DOCKER_HOST", "unix://"+filepath.Join(env.WorkDir, "no-engine.sock"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "profile": profile, "file-mode": fileMode, "is-link": isLink, "compare-only": compareOnly,
		},
	})
}

// exits is a script command: "exits CODE COMMAND…" runs the command and checks
// its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARGUMENT…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var failed *exec.ExitError
		if !errors.As(err, &failed) {
			ts.Fatalf("%v", err)
		}
		got = failed.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// profile is a script command: "profile FILE WORD" checks that a file is a
// profile of Go with a word in it, such as what its samples are.
func profile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: profile FILE WORD")
	}
	packed, err := gzip.NewReader(strings.NewReader(ts.ReadFile(args[0])))
	ts.Check(err)
	content, err := io.ReadAll(packed)
	ts.Check(err)
	if !bytes.Contains(content, []byte(args[1])) {
		ts.Fatalf("%s: no %s in it", args[0], args[1])
	}
}

// fileMode is a script command: "file-mode 600 FILE" checks a file's mode.
func fileMode(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := strconv.FormatInt(int64(info.Mode().Perm()), 8); got != args[0] {
		ts.Fatalf("%s has the mode %s, want %s", args[1], got, args[0])
	}
}

// isLink is a script command: "is-link FILE" checks that a file is a link.
func isLink(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Lstat(ts.MkAbs(args[0]))
	ts.Check(err)
	if info.Mode().Type() != os.ModeSymlink {
		ts.Fatalf("%s is no link", args[0])
	}
}

// compareOnly is a script command: "compare-only PATTERN FILE" compares the one
// file of the pattern.
func compareOnly(ts *testscript.TestScript, _ bool, args []string) {
	files, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(files) != 1 {
		ts.Fatalf("%d files are called %s, want 1", len(files), args[0])
	}
	if ts.ReadFile(files[0]) != ts.ReadFile(args[1]) {
		ts.Fatalf("%s is not as %s", files[0], args[1])
	}
}
