// Package native is the Linux sandbox that needs no container engine: the same
// binary, run again as the first process of fresh namespaces, with a root
// folder that holds a Python installation and nothing else.
//
// It owns finding the interpreter, building that root, the limits, the system
// call filter's loading and the life of the processes. It knows nothing of
// frames, tools or programs; the runner it boots comes from images/runner.
//
// From Start to the program, three processes take part:
//
//	host        ptc-mcp itself: makes the pipes and cgroups, sends the plan
//	supervisor  ptc-mcp again, pid 1 of the sandbox: builds the root, gives up
//	            every right, starts Python, reaps orphans, reports the end
//	runner      Python, pid 2: what a program sees and can touch
//
// On other systems the package builds, and its backend is unavailable.
package native

import "log/slog"

// Config says how sandboxes are made.
type Config struct {
	// Python is the path of the interpreter, or a name to look up in PATH.
	// Empty means the best one found: python3 of PATH, then newer ones of PATH,
	// then the distribution's, pyenv's and uv's.
	Python string
	// Logger receives what the user need not see; nil discards it.
	Logger *slog.Logger
}

// name is what the configuration calls this backend.
const name = "native"
