package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/ptc-mcp/ptc-mcp/internal/sandbox"
)

// Exit codes.
const (
	exitOK          = 0
	exitProgram     = 1 // the program failed, or ptc-mcp did
	exitUsage       = 2 // bad usage or configuration
	exitSandbox     = 3 // no usable sandbox
	exitServer      = 4 // a server that was needed could not be reached
	exitInterrupted = 130
)

// exitError is an error with an exit code. With a nil err everything has been
// said already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageErrorf is an error in how ptc-mcp was called or configured.
func usageErrorf(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// exitCode is the one place that maps what a command returned to the code of
// the process.
func exitCode(err error) int {
	var coded *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &coded):
		return coded.code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, sandbox.ErrUnavailable):
		return exitSandbox
	}
	return exitProgram
}

// failureText is what is still to be said about an error; empty if nothing is.
func failureText(err error) string {
	var coded *exitError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &coded) && coded.err == nil:
		return ""
	case errors.Is(err, context.Canceled):
		return "interrupted"
	}
	return err.Error()
}
