package doctor

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/executor"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

//go:embed probe.py
var probeSource string

// probeRunTimeout bounds the probe run. It leaves time to fetch an image.
const probeRunTimeout = 5 * time.Minute

// attempt is what the probe program says of one thing it tried.
type attempt struct {
	Reached bool   `json:"reached"`
	Detail  string `json:"detail"`
}

// sighting is what the probe program emits.
type sighting struct {
	Network     attempt  `json:"network"`
	Files       attempt  `json:"files"`
	System      attempt  `json:"system"`
	Processes   attempt  `json:"processes"`
	Environment []string `json:"environment"`
	UID         int      `json:"uid"`
	Python      string   `json:"python"`
}

// bait is what is laid out on the host for the probe program to reach.
type bait struct {
	Addresses []string `json:"addresses"`
	Port      int      `json:"port"`
	File      string   `json:"file"`
	PID       int      `json:"pid"`

	listener net.Listener
	folder   string
}

// lay opens a port and writes a file, and makes sure that both can be reached
// from outside a sandbox: otherwise a probe that fails would prove nothing.
func lay(ctx context.Context) (*bait, error) {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", ":0")
	if err != nil {
		return nil, err
	}
	b := &bait{
		listener: listener,
		Port:     listener.Addr().(*net.TCPAddr).Port,
		PID:      os.Getpid(),
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	if b.folder, err = os.MkdirTemp("", "ptc-mcp-doctor-"); err != nil {
		b.remove()
		return nil, err
	}
	// Readable by all, so that file modes are not what stops the probe.
	if err := os.Chmod(b.folder, 0o755); err != nil {
		b.remove()
		return nil, err
	}
	b.File = filepath.Join(b.folder, "host-file")
	if err := os.WriteFile(b.File, []byte("a file of the host\n"), 0o644); err != nil {
		b.remove()
		return nil, err
	}
	for _, ip := range append([]net.IP{net.IPv4(127, 0, 0, 1)}, hostAddresses()...) {
		dialer := net.Dialer{Timeout: time.Second}
		conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(ip.String(), fmt.Sprint(b.Port)))
		if err != nil {
			continue
		}
		_ = conn.Close()
		b.Addresses = append(b.Addresses, ip.String())
	}
	if len(b.Addresses) == 0 {
		b.remove()
		return nil, fmt.Errorf("the host cannot reach its own port %d", b.Port)
	}
	return b, nil
}

// hostAddresses are the IPv4 addresses of the host, at most four.
func hostAddresses() []net.IP {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var ips []net.IP
	for _, a := range addresses {
		network, ok := a.(*net.IPNet)
		if ok && network.IP.To4() != nil && !network.IP.IsLoopback() && len(ips) < 4 {
			ips = append(ips, network.IP)
		}
	}
	return ips
}

func (b *bait) remove() {
	_ = b.listener.Close()
	if b.folder != "" {
		_ = os.RemoveAll(b.folder)
	}
}

// program is the probe with what it is to try.
func (b *bait) program() (string, error) {
	parameters, err := json.Marshal(b)
	if err != nil {
		return "", err
	}
	// A JSON string is a Python string literal too.
	literal, err := json.Marshal(string(parameters))
	if err != nil {
		return "", err
	}
	return strings.Replace(probeSource, `PARAMETERS = "{}"`, "PARAMETERS = "+string(literal), 1), nil
}

// examineIsolation runs the probe program in a sandbox of the backend.
func examineIsolation(ctx context.Context, s Subject, backend sandbox.Backend, c sandbox.Capabilities) []Finding {
	ctx, cancel := context.WithTimeout(ctx, probeRunTimeout)
	defer cancel()
	b, err := lay(ctx)
	if err != nil {
		return []Finding{{
			Area: AreaIsolation, Check: "probe", Status: Warn, Detail: fmt.Sprintf("cannot be prepared: %v", err),
			Remedy: "run doctor where it may open a local port and write to the temporary folder",
		}}
	}
	defer b.remove()
	source, err := b.program()
	if err != nil {
		return []Finding{{Area: AreaIsolation, Check: "probe", Status: Fail, Detail: err.Error(), Remedy: "report this as a fault of ptc-mcp"}}
	}
	outcome := s.NewRunner(backend).Run(ctx, executor.Request{Source: source, Filename: "<probe>"})
	if !outcome.OK {
		detail, remedy := outcome.Error.Message, "the probe program itself failed; report this as a fault of ptc-mcp"
		if outcome.Error.Kind == executor.FailSandbox {
			detail, remedy = divide(bare(detail), "; ")
		}
		return []Finding{{Area: AreaSandbox, Check: "probe run", Status: Fail, Detail: detail, Remedy: remedy}}
	}
	var seen sighting
	if err := json.Unmarshal(outcome.Result, &seen); err != nil {
		return []Finding{{Area: AreaSandbox, Check: "probe run", Status: Fail, Detail: "the probe program gave no account: " + err.Error(), Remedy: "report this as a fault of ptc-mcp"}}
	}
	if s.Logger != nil {
		s.Logger.Debug("probe run", slog.String("seen", string(outcome.Result)))
	}
	f := outcome.Figures
	findings := []Finding{{
		Area: AreaSandbox, Check: "probe run", Status: OK,
		Detail: fmt.Sprintf("Python %s, ready after %d ms, done after %d ms", seen.Python, f.Boot.Milliseconds(), f.Wall.Milliseconds()),
	}}
	return append(findings, seen.judge(c.Isolated)...)
}

// judge says for each thing tried whether it was stopped. What gets through in
// a sandbox that does not claim to isolate is a warning.
func (s sighting) judge(isolated bool) []Finding {
	through, remedy := Fail, "do not use this sandbox: it does not contain programs; choose another with execution.sandbox, and report this"
	if !isolated {
		through, remedy = Warn, "set execution.sandbox to auto"
	}
	finding := func(check string, reached bool, detail string) Finding {
		f := Finding{Area: AreaIsolation, Check: check, Status: OK, Detail: detail}
		if reached {
			f.Status, f.Remedy = through, remedy
		}
		return f
	}
	environment := "empty"
	if len(s.Environment) > 0 {
		environment = fmt.Sprintf("%d variables, such as %s", len(s.Environment), s.Environment[0])
	}
	return []Finding{
		finding("network", s.Network.Reached, s.Network.Detail),
		finding("host files", s.Files.Reached, s.Files.Detail),
		finding("system folders", s.System.Reached, s.System.Detail),
		finding("host processes", s.Processes.Reached, s.Processes.Detail),
		finding("environment", len(s.Environment) > 0, environment),
		finding("user", s.UID == 0, fmt.Sprintf("runs as uid %d", s.UID)),
	}
}
