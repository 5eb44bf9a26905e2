package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// sshDialer returns a dialer that reaches an engine as the docker command
// does: each connection is an ssh process that runs `docker system dial-stdio`
// at the other end. The user's own ssh configuration and agent apply.
func sshDialer(host string) (func(ctx context.Context, network, address string) (net.Conn, error), error) {
	arguments, err := sshArguments(host)
	if err != nil {
		return nil, err
	}
	return func(context.Context, string, string) (net.Conn, error) {
		return dialCommand(exec.Command("ssh", arguments...)) //nolint:noctx // ended by Close
	}, nil
}

func sshArguments(host string) ([]string, error) {
	u, err := url.Parse(host)
	if err != nil {
		return nil, fmt.Errorf("docker: host %q: %w", host, err)
	}
	switch {
	case u.Hostname() == "":
		return nil, fmt.Errorf("docker: host %q names no machine; write ssh://user@machine", host)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("docker: host %q has a query or fragment; write ssh://user@machine:port/path/to/socket", host)
	}
	if _, has := u.User.Password(); has {
		return nil, fmt.Errorf("docker: host has a password in its URL; use an ssh key or agent")
	}
	// ssh must never ask: standard input is the connection.
	arguments := []string{"-o", "ConnectTimeout=30", "-o", "BatchMode=yes", "-T"}
	if name := u.User.Username(); name != "" {
		arguments = append(arguments, "-l", name)
	}
	if port := u.Port(); port != "" {
		arguments = append(arguments, "-p", port)
	}
	arguments = append(arguments, "--", u.Hostname(), "docker")
	if u.Path != "" && u.Path != "/" {
		arguments = append(arguments, "--host", shellQuote("unix://"+u.Path))
	}
	return append(arguments, "system", "dial-stdio"), nil
}

// shellQuote quotes a word for the shell at the other end of ssh.
func shellQuote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// commandConn is a connection over a process's standard input and output.
type commandConn struct {
	command *exec.Cmd
	stdin   *os.File
	stdout  *os.File
	stderr  tail
	closed  sync.Once
	exited  chan struct{}
}

func dialCommand(command *exec.Cmd) (net.Conn, error) {
	inReader, inWriter, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outReader, outWriter, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, inReader.Close(), inWriter.Close())
	}
	c := &commandConn{command: command, stdin: inWriter, stdout: outReader, exited: make(chan struct{})}
	command.Stdin, command.Stdout, command.Stderr = inReader, outWriter, &c.stderr
	command.WaitDelay = time.Second // stderr may be held open by a shared ssh master
	err = command.Start()
	inReader.Close()
	outWriter.Close()
	if err != nil {
		inWriter.Close()
		outReader.Close()
		return nil, fmt.Errorf("docker: cannot start %s: %w", command.Args[0], err)
	}
	go func() {
		defer close(c.exited)
		_ = command.Wait() // an end shows as the end of its output
	}()
	return c, nil
}

func (c *commandConn) Read(p []byte) (int, error) {
	n, err := c.stdout.Read(p)
	if errors.Is(err, io.EOF) {
		if explained := c.explain(io.ErrUnexpectedEOF); explained != nil {
			err = explained
		}
	}
	return n, err
}

func (c *commandConn) Write(p []byte) (int, error) {
	n, err := c.stdin.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		if explained := c.explain(err); explained != nil {
			err = explained
		}
	}
	return n, err
}

// explain adds what the process said before it ended; nil if that is nothing.
func (c *commandConn) explain(err error) error {
	said := c.said()
	if said == "" {
		return nil
	}
	return fmt.Errorf("%w: %s said: %s", err, c.command.Args[0], said)
}

// said is what the process wrote to its standard error, once it has ended.
func (c *commandConn) said() string {
	select {
	case <-c.exited:
		return c.stderr.String()
	case <-time.After(time.Second):
		return ""
	}
}

// CloseWrite ends what the other side reads.
func (c *commandConn) CloseWrite() error { return c.stdin.Close() }

func (c *commandConn) Close() error {
	c.closed.Do(func() {
		_ = c.stdin.Close()
		_ = c.command.Process.Kill() // fails only when it has ended
		_ = c.stdout.Close()
	})
	return nil
}

func (c *commandConn) LocalAddr() net.Addr                { return commandAddr(c.command.Args[0]) }
func (c *commandConn) RemoteAddr() net.Addr               { return commandAddr(c.command.Args[0]) }
func (c *commandConn) SetReadDeadline(t time.Time) error  { return c.stdout.SetReadDeadline(t) }
func (c *commandConn) SetWriteDeadline(t time.Time) error { return c.stdin.SetWriteDeadline(t) }
func (c *commandConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

type commandAddr string

func (a commandAddr) Network() string { return "command" }
func (a commandAddr) String() string  { return string(a) }

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 1 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if extra := len(t.text) - tailBytes; extra > 0 {
		t.text = t.text[extra:]
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.text))
}
