package cli

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ptc-mcp/ptc-mcp/internal/config"
)

// sandboxes are the values of --sandbox.
var sandboxes = []string{"auto", "docker", "native", "seatbelt", "none"}

// common are the flags that several commands have.
type common struct {
	config    string
	sandbox   string
	logLevel  string
	logFormat string
}

func (c *common) register(cmd *cobra.Command, defaultLevel string) {
	c.registerConnecting(cmd, defaultLevel)
	cmd.Flags().StringVar(&c.sandbox, "sandbox", "", "sandbox to use instead of the configured one: "+strings.Join(sandboxes, ", "))
}

// registerConnecting is register for commands that run nothing in a sandbox.
func (c *common) registerConnecting(cmd *cobra.Command, defaultLevel string) {
	flags := cmd.Flags()
	flags.StringVar(&c.config, "config", "", "configuration `file`; without it $"+config.EnvironmentVariable+", ./config.yaml, then the user's configuration folder")
	flags.StringVar(&c.logLevel, "log-level", defaultLevel, "least `level` that is logged to standard error: debug, info, warn, error")
	flags.StringVar(&c.logFormat, "log-format", "text", "`format` of the log: text, json")
}

// logger returns a logger that writes to w.
func (c *common) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, c.logLevel) {
		return nil, usageErrorf("--log-level %s: not a level; use debug, info, warn or error", c.logLevel)
	}
	if err := level.UnmarshalText([]byte(c.logLevel)); err != nil {
		return nil, usageErrorf("--log-level %s: %v", c.logLevel, err)
	}
	options := &slog.HandlerOptions{Level: level}
	switch c.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return nil, usageErrorf("--log-format %s: not a format; use text or json", c.logFormat)
}

// load finds and loads the configuration, with --sandbox applied. The path is
// returned even if the file cannot be loaded.
func (c *common) load() (*config.Config, string, error) {
	if c.sandbox != "" && !slices.Contains(sandboxes, c.sandbox) {
		return nil, "", usageErrorf("--sandbox %s: no such sandbox; use %s", c.sandbox, strings.Join(sandboxes, ", "))
	}
	path, err := config.Find(c.config)
	if err != nil {
		return nil, "", &exitError{exitUsage, err}
	}
	cfg, err := config.Load(path)
	if err != nil {
		return nil, path, &exitError{exitUsage, err}
	}
	if c.sandbox != "" {
		cfg.Execution.Sandbox = c.sandbox
	}
	return cfg, path, nil
}

// maxSeconds is far beyond any use, and well within a time.Duration.
const maxSeconds = 1e9

// secondsFlag is a time as seconds ("90", "0.5") or with a unit ("1m30s").
type secondsFlag time.Duration

func (s *secondsFlag) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

func (s *secondsFlag) Type() string { return "time" }

func (s *secondsFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if number, numberErr := strconv.ParseFloat(text, 64); numberErr == nil && number < maxSeconds {
		d, err = time.Duration(number*float64(time.Second)), nil
	}
	if err != nil || d <= 0 {
		return fmt.Errorf("%q is not a time above zero, such as 90 or 1m30s", text)
	}
	*s = secondsFlag(d)
	return nil
}
