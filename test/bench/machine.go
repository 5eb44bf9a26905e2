package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// machine is where and when something was measured.
type machine struct {
	Date    string `json:"date"`
	Version string `json:"version"` // of ptc-mcp
	OS      string `json:"os"`
	Kernel  string `json:"kernel"`
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	MemGB   int    `json:"memory_gb"`
	Go      string `json:"go"`
	Python  string `json:"python"` // of the host
	Engine  string `json:"engine,omitempty"`
	Image   string `json:"image,omitempty"`
	// Load is the machine's load when the measuring began: anything well above
	// 0 makes absolute figures worse.
	Load float64 `json:"load"`
	// Awake is whether the processors were kept from halting.
	Awake bool `json:"awake"`
}

// facts asks the machine; what it does not tell stays empty.
func facts(ctx context.Context, o settings) machine {
	m := machine{
		Date: time.Now().UTC().Format("2006-01-02 15:04 UTC"), OS: runtime.GOOS + "/" + runtime.GOARCH,
		Cores: runtime.NumCPU(), Go: runtime.Version(), Image: o.Image,
		CPU: field("/proc/cpuinfo", "model name"), Kernel: firstWord("/proc/sys/kernel/osrelease"),
	}
	if kb, err := strconv.Atoi(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB")); err == nil {
		m.MemGB = (kb + 1<<19) >> 20
	}
	m.Load, _ = strconv.ParseFloat(firstWord("/proc/loadavg"), 64)
	m.Version = output(ctx, o.Binary, "version")
	m.Python = strings.TrimPrefix(output(ctx, o.Python, "--version"), "Python ")
	return m
}

func output(ctx context.Context, command string, args ...string) string {
	out, err := exec.CommandContext(ctx, command, args...).Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line)
}

func firstWord(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	word, _, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	return word
}

// field is the value of a key in a file of "key: value" lines.
func field(path, key string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if k, v, found := strings.Cut(lines.Text(), ":"); found && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
