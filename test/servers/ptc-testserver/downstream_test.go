package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
)

// connect starts a session with the server, as ptc-mcp does.
func connect(t *testing.T, config downstream.Config) *downstream.Session {
	t.Helper()
	config.Name = "test"
	if config.URL == "" {
		config.Transport, config.Command = "stdio", os.Args[0]
		config.Env = map[string]string{asServer: "1"}
	}
	session := downstream.New(config)
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	session.Start()
	if err := session.Connected(t.Context()); err != nil {
		t.Fatal(err)
	}
	return session
}

func TestSessionsOfBothErasAndTransportsWork(t *testing.T) {
	tests := map[string]struct {
		args     []string
		protocol string
	}{
		"legacy stdio":            {[]string{"-era", "legacy"}, legacyVersion},
		"modern stdio":            {[]string{"-era", "modern"}, modernVersion},
		"both over stdio":         {[]string{"-era", "both", "-tools", "40", "-page-size", "7"}, modernVersion},
		"legacy http":             {[]string{"-era", "legacy", "-http", "127.0.0.1:0"}, legacyVersion},
		"modern http":             {[]string{"-era", "modern", "-http", "127.0.0.1:0"}, modernVersion},
		"http with event streams": {[]string{"-http", "127.0.0.1:0", "-sse-replies"}, legacyVersion},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.args = append(test.args, "-change")
			config := downstream.Config{Args: test.args}
			if strings.Contains(strings.Join(test.args, " "), "-http") {
				config.Transport, config.URL = "http", start(t, test.args...).receive()
			}
			session := connect(t, config)
			if got := session.Status().Protocol; got != test.protocol {
				t.Errorf("the protocol is %s, want %s", got, test.protocol)
			}
			result, err := session.Call(t.Context(), "large_integers", json.RawMessage(`{}`))
			if err != nil || !strings.Contains(string(result), "123456789012345678901234567890") {
				t.Errorf("got %s, %v", result, err)
			}
			var failure *downstream.RPCError
			if _, err := session.Call(t.Context(), "rpc_error", json.RawMessage(`{"code":-5,"message":"no"}`)); !errors.As(err, &failure) || failure.Code != -5 {
				t.Errorf("got %v", err)
			}
			changed := make(chan struct{}, 100)
			session.OnChange(func() { changed <- struct{}{} })
			if _, err := session.Call(t.Context(), "change", json.RawMessage(`{"add":"late"}`)); err != nil {
				t.Fatal(err)
			}
			for !lists(session, "late") {
				select {
				case <-changed:
				case <-time.After(patience):
					t.Fatal("the changed list goes unnoticed")
				}
			}
		})
	}
}

func lists(session *downstream.Session, name string) bool {
	for _, tool := range session.Status().Tools {
		if tool.Name == name {
			return true
		}
	}
	return false
}

func TestASessionOutlivesTheServersDeath(t *testing.T) {
	session := connect(t, downstream.Config{Args: []string{
		"-die-on-call", "increment", "-die-once", filepath.Join(t.TempDir(), "died"),
	}})
	if _, err := session.Call(t.Context(), "increment", json.RawMessage(`{}`)); !errors.Is(err, downstream.ErrLost) {
		t.Fatalf("got %v, want a lost connection", err)
	}
	if err := session.Connected(t.Context()); err != nil {
		t.Fatal(err)
	}
	if result, err := session.Call(t.Context(), "increment", json.RawMessage(`{}`)); err != nil || !strings.Contains(string(result), `{"counter":1}`) {
		t.Errorf("got %s, %v", result, err)
	}
}
