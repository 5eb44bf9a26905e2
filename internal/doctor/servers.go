package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/config"
	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// serverGrace is what a server may take beyond its own deadlines before it is
// given up here.
const serverGrace = 2 * time.Second

// examineServers waits for the first attempt of every session, which all began
// at the same time, and says how each ended.
func examineServers(ctx context.Context, s Subject) []Finding {
	started := time.Now()
	for i, session := range s.Sessions {
		entry := s.Config.Servers[i]
		limit := time.Duration((entry.ConnectTimeoutSeconds+entry.ListTimeoutSeconds)*float64(time.Second)) + serverGrace
		timer := time.NewTimer(time.Until(started.Add(limit)))
		select {
		case <-session.Settled():
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	callable := make(map[string]tool.Server)
	for _, server := range s.Callable() {
		callable[server.Name] = server
	}
	findings := make([]Finding, len(s.Sessions))
	for i, session := range s.Sessions {
		status := session.Status()
		findings[i] = server(status, s.Config.Servers[i], callable[session.Name()].Tools)
		signIn(ctx, s, session.Name(), status.Err, &findings[i])
	}
	return findings
}

// server is the finding about one server in its present state.
func server(status downstream.Status, entry config.Server, callable int) Finding {
	f := Finding{Area: AreaServers, Check: entry.Name, Status: OK}
	if status.State == downstream.Connected {
		f.Server = &ServerMeasures{
			Tools: len(status.Tools), Callable: callable,
			ConnectSeconds: status.ConnectDuration.Seconds(), Protocol: status.Protocol,
		}
		f.Detail = fmt.Sprintf("%d tools in %d ms", len(status.Tools), status.ConnectDuration.Milliseconds())
		if callable != len(status.Tools) {
			f.Detail += fmt.Sprintf(", %d callable", callable)
		}
		if status.ServerName != "" {
			f.Detail += "; " + strings.TrimSpace(status.ServerName+" "+status.ServerVersion)
		}
		if status.Protocol != "" {
			f.Detail += ", MCP " + status.Protocol
		}
		switch {
		case status.Err != nil:
			f.Status, f.Detail = Fail, f.Detail+": "+status.Err.Error()
			f.Remedy = "the server is there but does not list its tools; look at its own log, or raise list_timeout_seconds"
		case len(status.Tools) == 0:
			f.Status, f.Remedy = Warn, "the server has no tools; leave it out of the configuration"
		case callable == 0:
			f.Status, f.Remedy = Warn, "tools.allow or tools.block leaves none of its tools; change the pattern or leave the server out"
		}
		return f
	}
	f.Status = Fail
	f.Detail = "no answer in time"
	if status.Err != nil {
		f.Detail = status.Err.Error()
	}
	f.Remedy = serverRemedy(status, entry)
	return f
}

// serverRemedy says what to do about a server that is not connected.
func serverRemedy(status downstream.Status, entry config.Server) string {
	var said string
	if lines := strings.Split(strings.TrimSpace(status.Stderr), "\n"); lines[len(lines)-1] != "" {
		said = "; it wrote: " + lines[len(lines)-1]
	}
	err := status.Err
	switch {
	case errors.Is(err, exec.ErrNotFound) || entry.Transport == config.Stdio && errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("install %s, or give its full path as command", entry.Command)
	case entry.Transport == config.Stdio:
		return fmt.Sprintf("run %s by hand, with the arguments and env of its entry, and see why; if it is merely slow to start, raise connect_timeout_seconds", entry.Command) + said
	}
	return "check url and headers of the server, and that it is running"
}
