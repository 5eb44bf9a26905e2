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
// That is the plain way. Most of its time goes into booting Python, so that
// normally it is gone once, for a template, and every sandbox is forked:
//
//	host        as before; sends requests
//	supervisor  one for all, pid 1 of the template: makes the namespaces of
//	            every sandbox and the root in them
//	zygote      Python, booted; in the template too, forks for every request
//	first       a fork, pid 1 of the sandbox: enters the namespaces, gives up
//	            every right, forks the runner, reaps orphans, reports the end
//	runner      a fork of that, pid 2: what a program sees and can touch
//
// Where there can be no zygote, or it fails, sandboxes are started the plain
// way.
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
	// NoZygote starts an interpreter for every sandbox, where otherwise one is
	// started once and forked.
	NoZygote bool
	// Logger receives what the user need not see; nil discards it.
	Logger *slog.Logger
}

// name is what the configuration calls this backend.
const name = "native"
