package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/ptc-mcp/ptc-mcp/images/runner"
)

// versionInfo is what ptc-mcp version tells.
type versionInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Runner   string `json:"runner"`
}

func newVersion(streams Streams, version string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  exactly(0),
		RunE: func(*cobra.Command, []string) error {
			info := newVersionInfo(version)
			var err error
			if asJSON {
				err = json.NewEncoder(streams.Out).Encode(info)
			} else {
				_, err = fmt.Fprintf(streams.Out, "ptc-mcp %s (%s, %s, runner %s)\n", info.Version, info.Go, info.Platform, info.Runner)
			}
			if err != nil {
				return fmt.Errorf("standard output: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func newVersionInfo(version string) versionInfo {
	info := versionInfo{
		Version:  version,
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Runner:   runner.Hash(),
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range build.Settings {
			if setting.Key == "vcs.revision" {
				info.Commit = setting.Value
			}
		}
	}
	return info
}
