// Package doctor looks whether ptc-mcp can do its work on this machine: the
// configuration, the sandboxes, isolation as a program meets it, the servers.
//
// It owns the checks, and the findings with their remedies. It must not know
// concrete backends, how anything is put together, or how a report is shown.
package doctor

import (
	"context"
	"log/slog"
	"sync"

	"github.com/ptc-mcp/ptc-mcp/internal/config"
	"github.com/ptc-mcp/ptc-mcp/internal/credentials"
	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/executor"
	"github.com/ptc-mcp/ptc-mcp/internal/imports"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// Status is the verdict of a finding.
type Status string

// The verdicts.
const (
	OK   Status = "ok"
	Warn Status = "warn" // works, but weaker or poorer than it could be
	Fail Status = "fail" // does not work
)

// Area groups findings; it decides the exit code of a failure.
type Area string

// The areas, in the order of a report.
const (
	AreaConfiguration Area = "configuration"
	AreaSandbox       Area = "sandbox"
	AreaIsolation     Area = "isolation"
	AreaServers       Area = "servers"
)

// Finding is the result of one check.
type Finding struct {
	Area   Area   `json:"area"`
	Check  string `json:"check"`
	Status Status `json:"status"`
	// Detail is what was found, in one line.
	Detail string `json:"detail"`
	// Remedy is what to do about it; never empty unless Status is OK.
	Remedy string `json:"remedy,omitempty"`
	// Server holds the measures of a server.
	Server *ServerMeasures `json:"server,omitempty"`
	// SignIn is how one stands with a server that wants OAuth.
	SignIn *SignIn `json:"sign_in,omitempty"`
}

// ServerMeasures are what a finding about a server has measured.
type ServerMeasures struct {
	Tools          int     `json:"tools"`
	Callable       int     `json:"callable"`
	ConnectSeconds float64 `json:"connect_seconds"`
	Protocol       string  `json:"protocol,omitempty"`
}

// Report is what all checks found.
type Report struct {
	OK       bool      `json:"ok"`
	Version  string    `json:"version"`
	Config   string    `json:"config"`
	Sandbox  string    `json:"sandbox"`
	Findings []Finding `json:"findings"`
}

// Failed reports whether a check of the area failed.
func (r *Report) Failed(area Area) bool {
	for _, f := range r.Findings {
		if f.Area == area && f.Status == Fail {
			return true
		}
	}
	return false
}

// Session is a session with one configured server, already connecting.
type Session interface {
	Name() string
	Status() downstream.Status
	Settled() <-chan struct{}
}

// Runner runs a program in a sandbox of one backend.
type Runner interface {
	Run(ctx context.Context, req executor.Request) *executor.Outcome
}

// Subject is what there is to examine.
type Subject struct {
	// Version is ptc-mcp's own.
	Version string
	// Config is the configuration in use. ConfigError is set instead when it
	// could not be loaded; ConfigPath is then the file, if one was found.
	Config      *config.Config
	ConfigPath  string
	ConfigError error
	// Imports is what was read of other clients' files; nil where the
	// configuration imports nothing. Its servers are in Config already.
	Imports *imports.Set

	// Backends are the candidates for the sandbox.
	Backends []sandbox.Backend
	// NewRunner returns a runner over one of them.
	NewRunner func(sandbox.Backend) Runner

	// Sessions are the servers; Callable gives what the catalogue makes of
	// them.
	Sessions []Session
	Callable func() []tool.Server

	// Account gives what came of signing in to a server; nil where that is not
	// how it is reached.
	Account func(ctx context.Context, server string) (*credentials.Account, error)

	// Logger receives what is not a finding; nil discards it.
	Logger *slog.Logger
}

// Examine makes all checks, sandbox and servers at the same time, and returns
// what they found. It ends early with ctx; what could not be checked by then is
// a failure.
func Examine(ctx context.Context, s Subject) *Report {
	report := &Report{Version: s.Version, Config: s.ConfigPath}
	report.add(configuration(s))
	report.add(imported(s)...)
	if s.ConfigError != nil {
		return report.judged()
	}
	var wg sync.WaitGroup
	var sandboxes, servers []Finding
	wg.Go(func() { report.Sandbox, sandboxes = examineSandbox(ctx, s) })
	wg.Go(func() { servers = examineServers(ctx, s) })
	wg.Wait()
	report.add(sandboxes...)
	report.add(servers...)
	return report.judged()
}

func (r *Report) add(findings ...Finding) { r.Findings = append(r.Findings, findings...) }

func (r *Report) judged() *Report {
	r.OK = true
	for _, f := range r.Findings {
		r.OK = r.OK && f.Status != Fail
	}
	return r
}
