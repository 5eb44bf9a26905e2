package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ptc-mcp/ptc-mcp/internal/config"
	"github.com/ptc-mcp/ptc-mcp/internal/credentials"
	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
)

type loginOptions struct {
	common
	noBrowser bool
	timeout   secondsFlag
}

func newLogin(streams Streams, version string) *cobra.Command {
	options := loginOptions{timeout: secondsFlag(5 * time.Minute)}
	cmd := &cobra.Command{
		Use:   "login SERVER",
		Short: "Sign in to a remote server that wants OAuth",
		Long: `Signs you in to an http or sse server: opens the browser at the server's
authorization server, waits on 127.0.0.1 for it to come back, and keeps the
tokens for every ptc-mcp of yours; a running one goes on with them.

Where no browser can be opened, or with --no-browser, the address is printed,
and the address at which the browser ends can be pasted.

Exit codes: 0 signed in, 1 not, 2 bad usage or configuration, 4 signed in, but
the server does not accept it, 130 interrupted.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return login(cmd.Context(), streams, version, args[0], options)
		},
	}
	options.register(cmd, "error")
	cmd.Flags().BoolVar(&options.noBrowser, "no-browser", false, "print the address instead of opening a browser, and read what is pasted")
	cmd.Flags().Var(&options.timeout, "timeout", "how long to wait for the browser")
	return cmd
}

func login(ctx context.Context, streams Streams, version, name string, options loginOptions) error {
	a, server, signIn, err := signInTo(streams, version, name, options.common)
	if err != nil {
		return err
	}
	status, challenge, err := downstream.Challenge(ctx, reach(server, version, a.logger))
	if err != nil {
		return fmt.Errorf("server %q: %w", name, err)
	}
	if status != http.StatusUnauthorized && challenge.Get("WWW-Authenticate") == "" {
		fmt.Fprintf(streams.Err, "server %q answers without credentials; signing in all the same\n", name)
	}
	within, cancel := context.WithTimeout(ctx, time.Duration(options.timeout))
	defer cancel()
	account, err := signIn.SignIn(within, options.prompt(streams, challenge))
	if err != nil {
		return fmt.Errorf("server %q: %w", name, err)
	}
	fmt.Fprintf(streams.Out, "signed in to %s at %s\n", name, account.Issuer)
	return verifyLogin(ctx, streams, a, name)
}

// signInTo builds what a command about one server's sign-in works with.
func signInTo(streams Streams, version, name string, flags common) (*app, config.Server, *credentials.OAuth, error) {
	logger, err := flags.logger(streams.Err)
	if err != nil {
		return nil, config.Server{}, nil, err
	}
	cfg, _, err := flags.load()
	if err != nil {
		return nil, config.Server{}, nil, err
	}
	a, err := assemble(cfg, version, logger)
	if err != nil {
		return nil, config.Server{}, nil, err
	}
	server, signIn, err := a.signInOf(name)
	return a, server, signIn, err
}

// prompt shows the user where to go. Standard input is read only where somebody
// may be typing.
func (o loginOptions) prompt(streams Streams, challenge http.Header) credentials.Prompt {
	p := credentials.Prompt{Challenge: challenge}
	p.Show = func(ctx context.Context, address string) error {
		if !o.noBrowser {
			if err := openBrowser(ctx, address); err == nil {
				fmt.Fprintf(streams.Err, "The browser should open. If it does not, open\n\n%s\n\n", address)
				return nil
			}
		}
		fmt.Fprintf(streams.Err, "Open this address in a browser:\n\n%s\n\nIf the browser then cannot show a page at 127.0.0.1, because it is on another\nmachine, copy the address it is at and paste it here.\n", address)
		return nil
	}
	if o.noBrowser || isTerminal(streams.In) {
		lines := make(chan string)
		p.Pasted = lines
		go func() { // ends with the process: a read of a terminal cannot be cut short
			defer close(lines)
			scanner := bufio.NewScanner(streams.In)
			scanner.Buffer(nil, 64<<10)
			for scanner.Scan() {
				if scanner.Text() != "" {
					lines <- scanner.Text()
				}
			}
		}()
		p.Retry = func(reason error) { fmt.Fprintln(streams.Err, reason) }
	}
	return p
}

func isTerminal(r io.Reader) bool {
	file, ok := r.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// verifyLogin connects with what came of the sign-in.
func verifyLogin(ctx context.Context, streams Streams, a *app, name string) error {
	defer func() { _ = a.close() }()
	for _, s := range a.sessions.all() {
		if s.Name() != name {
			continue
		}
		s.Start()
		select {
		case <-s.Settled():
		case <-ctx.Done():
			return ctx.Err()
		}
		status := s.Status()
		if status.State != downstream.Connected || status.Err != nil {
			return &exitError{exitServer, fmt.Errorf("server %q: %w", name, errors.Join(status.Err))}
		}
		fmt.Fprintf(streams.Out, "the server has %s\n", plural(len(status.Tools), "tool"))
	}
	return nil
}

func newLogout(streams Streams, version string) *cobra.Command {
	var flags common
	cmd := &cobra.Command{
		Use:   "logout SERVER",
		Short: "Forget what came of signing in to a server",
		Long: `Revokes the tokens at the authorization server, where it offers that, and
forgets them.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, _, signIn, err := signInTo(streams, version, args[0], flags)
			if err != nil {
				return err
			}
			defer func() { _ = a.close() }()
			was, err := signIn.SignOut(cmd.Context())
			switch {
			case err != nil:
				return fmt.Errorf("server %q: %w", args[0], err)
			case !was:
				fmt.Fprintf(streams.Out, "nobody had signed in to %s\n", args[0])
			default:
				fmt.Fprintf(streams.Out, "signed out of %s\n", args[0])
			}
			return nil
		},
	}
	flags.register(cmd, "error")
	return cmd
}
