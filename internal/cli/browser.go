package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// openBrowser opens an address as the system does, or as $BROWSER says: names
// of programs, separated as in PATH. It does not wait for the browser to end.
func openBrowser(ctx context.Context, address string) error {
	var candidates [][]string
	for _, program := range strings.Split(os.Getenv("BROWSER"), string(os.PathListSeparator)) {
		if program != "" {
			candidates = append(candidates, []string{program})
		}
	}
	switch {
	case len(candidates) > 0:
	case runtime.GOOS == "darwin":
		candidates = [][]string{{"open"}}
	case runtime.GOOS == "windows":
		candidates = [][]string{{"rundll32", "url.dll,FileProtocolHandler"}}
	case os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "":
		return errors.New("no display to open a browser on")
	default:
		candidates = [][]string{{"xdg-open"}, {"x-www-browser"}, {"sensible-browser"}}
	}
	var failed error
	for _, c := range candidates {
		// Not ended with the command: it may be the browser itself.
		cmd := exec.CommandContext(context.WithoutCancel(ctx), c[0], append(c[1:], address)...)
		if err := cmd.Start(); err != nil {
			failed = err
			continue
		}
		go func() { _ = cmd.Wait() }()
		return nil
	}
	return failed
}
