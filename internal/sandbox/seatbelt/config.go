// Package seatbelt is the macOS sandbox: a Python process that
// /usr/bin/sandbox-exec has put under the profile of seatbelt/base.sb.
//
// It owns finding the interpreter and what it is linked with, the scratch
// folders, the watch over memory and scratch, and the life of the processes. It
// knows nothing of frames, tools or programs; the runner it boots comes from
// images/runner, the profile from the package seatbelt at the top.
//
// The profile refuses to fork, so a sandbox is one process from its first
// moment to its last: sandbox-exec, which becomes the interpreter.
//
// Only Probe and Start know that this is macOS. Everything else works wherever
// there are Unix processes, and is tested there with a stand-in for
// sandbox-exec. Where there are none, the backend is unavailable.
package seatbelt

import "log/slog"

// Config says how sandboxes are made.
type Config struct {
	// Python is the path of the interpreter, or a name to look up in PATH.
	// Empty means the best one found: python3 of PATH, then newer ones of PATH,
	// then those of Homebrew, python.org, pyenv, uv, conda and Apple.
	Python string
	// Logger receives what the user need not see; nil discards it.
	Logger *slog.Logger
}

// name is what the configuration calls this backend.
const name = "seatbelt"
