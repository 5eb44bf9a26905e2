package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	httppprof "net/http/pprof"
	"net/netip"
	"os"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/spf13/cobra"
)

// profiles are the flags that show where a command's time and memory go. All
// are off by default.
type profiles struct {
	cpu, memory string // files
	address     string
}

func (p *profiles) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&p.cpu, "cpuprofile", "", "write a CPU profile of ptc-mcp itself to this `file`, until the command ends")
	flags.StringVar(&p.memory, "memprofile", "", "write a profile of ptc-mcp's allocations to this `file` when the command ends")
	flags.StringVar(&p.address, "pprof", "", "serve profiles over HTTP at this loopback `address`, such as 127.0.0.1:6060, while the command runs")
}

// start begins what was asked for. The function it returns ends it, and logs
// what could not be written by then.
func (p *profiles) start(logger *slog.Logger) (_ func(), err error) {
	var ends []func() error
	stop := func() {
		for _, end := range ends {
			if err := end(); err != nil {
				logger.Error("no profile", "error", err)
			}
		}
	}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	if p.address != "" {
		end, err := serveProfiles(p.address, logger)
		if err != nil {
			return nil, usageErrorf("--pprof %s: %w", p.address, err)
		}
		ends = append(ends, end)
	}
	if p.memory != "" {
		// Created now, so that a path that cannot be written is seen now.
		file, err := os.Create(p.memory)
		if err != nil {
			return nil, usageErrorf("--memprofile: %w", err)
		}
		ends = append(ends, func() error {
			runtime.GC() // the profile is of what was in use at the last collection
			return errors.Join(pprof.Lookup("allocs").WriteTo(file, 0), file.Close())
		})
	}
	if p.cpu != "" {
		file, err := os.Create(p.cpu)
		if err != nil {
			return nil, usageErrorf("--cpuprofile: %w", err)
		}
		if err := pprof.StartCPUProfile(file); err != nil {
			_ = file.Close() // nothing was written
			return nil, fmt.Errorf("--cpuprofile: %w", err)
		}
		ends = append(ends, func() error {
			pprof.StopCPUProfile()
			return file.Close()
		})
	}
	return stop, nil
}

var errNotLoopback = errors.New("profiles show what a process does and holds, so they are served on loopback only; use 127.0.0.1:PORT, or port 0 for a free one")

// serveProfiles serves the profiles of this process, and returns how to end
// that.
func serveProfiles(address string, logger *slog.Logger) (end func() error, err error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if !isLoopback(host) {
		return nil, errNotLoopback
	}
	listener, err := net.Listen("tcp", address) //nolint:noctx // it returns at once
	if err != nil {
		return nil, err
	}
	// "localhost" is what the machine's own tables say it is.
	if at, ok := listener.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		_ = listener.Close()
		return nil, errNotLoopback
	}
	server := &http.Server{Handler: profileHandler(), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	logger.Info("serving profiles", "url", "http://"+listener.Addr().String()+"/debug/pprof/")
	return func() error {
		err := server.Close()
		if serveErr := <-done; !errors.Is(serveErr, http.ErrServerClosed) {
			err = errors.Join(err, serveErr)
		}
		return err
	}, nil
}

// profileHandler has a mux of its own. It answers requests for a loopback host
// only: a web page can have its own name resolved to 127.0.0.1, and would then
// be allowed to read the answers.
func profileHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", httppprof.Index) // and every named profile
	mux.HandleFunc("/debug/pprof/profile", httppprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", httppprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", httppprof.Trace)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil || !isLoopback(host) {
			http.Error(w, "ask for a loopback address", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
