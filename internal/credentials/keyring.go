package credentials

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/zalando/go-keyring"
)

// Keyring keeps small secrets for a user.
type Keyring interface {
	// Get returns a secret. Its error is ErrNoSecret when there is none, and
	// ErrNoKeyring when the user has no keyring.
	Get(ctx context.Context, name string) (string, error)
	// Set keeps a secret, in place of an earlier one.
	Set(ctx context.Context, name, secret string) error
}

var (
	// ErrNoSecret means that a keyring does not have what was asked for.
	ErrNoSecret = errors.New("not in the keyring")
	// ErrNoKeyring means that there is no keyring to ask.
	ErrNoKeyring = errors.New("no keyring")
)

const (
	keyringService = "ptc-mcp"
	// keyringTimeout bounds the time in which a user unlocks it.
	keyringTimeout = 30 * time.Second
)

// SystemKeyring is the keyring of the operating system: the keychain on macOS,
// the Credential Manager on Windows, a Secret Service elsewhere.
func SystemKeyring() Keyring { return systemKeyring{} }

type systemKeyring struct{}

func (systemKeyring) Get(ctx context.Context, name string) (string, error) {
	if !keyringThere() {
		return "", ErrNoKeyring
	}
	secret, err := inTime(ctx, func() (string, error) { return keyring.Get(keyringService, name) })
	if errors.Is(err, keyring.ErrNotFound) {
		return "", ErrNoSecret
	}
	return secret, err
}

func (systemKeyring) Set(ctx context.Context, name, secret string) error {
	if !keyringThere() {
		return ErrNoKeyring
	}
	_, err := inTime(ctx, func() (string, error) { return "", keyring.Set(keyringService, name, secret) })
	return err
}

// keyringThere looks for a session bus, which the library would start itself
// where there is none.
func keyringThere() bool {
	switch runtime.GOOS {
	case "darwin", "windows":
		return true
	}
	if os.Getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	_, err := os.Stat(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "bus"))
	return os.Getenv("XDG_RUNTIME_DIR") != "" && err == nil
}

// inTime waits for a call that cannot be cancelled, such as one that waits for
// the user to unlock the keyring.
func inTime(ctx context.Context, call func() (string, error)) (string, error) {
	type answer struct {
		secret string
		err    error
	}
	answered := make(chan answer, 1)
	go func() {
		secret, err := call()
		answered <- answer{secret, err}
	}()
	timer := time.NewTimer(keyringTimeout)
	defer timer.Stop()
	select {
	case a := <-answered:
		return a.secret, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	case <-timer.C:
		return "", fmt.Errorf("the keyring did not answer within %s; it may wait to be unlocked", keyringTimeout)
	}
}
