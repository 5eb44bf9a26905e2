// Package floor measures what a machine can do at best, without anything of
// ptc-mcp: the life of a bare container and a bare interpreter, round trips to
// an MCP server and to a Python program over the streams that sandboxes have,
// and the kernel's own part of it, from C.
//
// Each probe is as careful as what it is compared with: nothing is decoded that
// need not be, every buffer is used again. It knows no rows and no bars.
package floor

import (
	"context"
	"io"
	"os/exec"
)

// Starter starts a bare Python program in one kind of place: the container that
// programs run in, or an ordinary process.
type Starter interface {
	// Start runs the code; args are its sys.argv[1:]. It returns as soon as the
	// streams are there.
	Start(ctx context.Context, code string, args ...string) (Process, error)
}

// Process is a running Python program.
type Process struct {
	Stdin  io.Writer
	Stdout io.Reader
	// Close ends the program and removes what belongs to it.
	Close func() error
}

// Processes starts ordinary processes.
type Processes struct{ Python string }

// Start starts the interpreter as a child.
func (p Processes) Start(ctx context.Context, code string, args ...string) (Process, error) {
	cmd := exec.CommandContext(ctx, p.Python, append([]string{"-I", "-S", "-B", "-c", code}, args...)...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return Process{}, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return Process{}, err
	}
	if err := cmd.Start(); err != nil {
		return Process{}, err
	}
	return Process{stdin, stdout, func() error {
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // its end was brought about
		return nil
	}}, nil
}
