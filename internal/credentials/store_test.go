package credentials

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// memoryRing is a keyring that a test can look into, lose and lock.
type memoryRing struct {
	mu      sync.Mutex
	secrets map[string]string
	err     error
}

func (r *memoryRing) Get(_ context.Context, name string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return "", r.err
	}
	secret, ok := r.secrets[name]
	if !ok {
		return "", ErrNoSecret
	}
	return secret, nil
}

func (r *memoryRing) Set(_ context.Context, name, secret string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	r.secrets[name] = secret
	return nil
}

func put(t *testing.T, s *Store, server, token string) {
	t.Helper()
	if err := s.update(t.Context(), func(c *content) error {
		c.put(grant{Server: server, URL: "https://" + server, AccessToken: token})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func got(t *testing.T, s *Store, server string) string {
	t.Helper()
	g, _, err := s.find(t.Context(), server, "https://"+server)
	if err != nil {
		t.Fatal(err)
	}
	if g == nil {
		return ""
	}
	return g.AccessToken
}

func TestWithoutAKeyringAFileOfTheUsersOwnKeepsTokens(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "ptc-mcp")
	for name, ring := range map[string]Keyring{"none": nil, "not there": &memoryRing{err: ErrNoKeyring}} {
		s := NewStore(filepath.Join(dir, name), ring)
		if got(t, s, "a") != "" {
			t.Error("a new store has something")
		}
		put(t, s, "a", "token-a")
		put(t, s, "b", "token-b")
		if got(t, s, "a") != "token-a" || got(t, NewStore(s.dir, ring), "b") != "token-b" {
			t.Error("what was kept is not there")
		}
		if s.sealed(t.Context()) {
			t.Error("sealed without a key")
		}
		if runtime.GOOS == "windows" {
			continue
		}
		for path, want := range map[string]os.FileMode{s.dir: 0o700, s.path(): 0o600, filepath.Join(s.dir, "lock"): 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, want)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(s.dir, ".new-*")); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
}

func TestAFileThatOthersMayReadIsRefused(t *testing.T) {
	s := NewStore(t.TempDir(), nil)
	put(t, s, "a", "token-a")
	if err := os.Chmod(s.path(), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.find(t.Context(), "a", "https://a"); err == nil || !strings.Contains(err.Error(), "chmod 600") || strings.Contains(err.Error(), "token-a") {
		t.Errorf("got %v", err)
	}
}

func TestWithAKeyringTheFileIsSealed(t *testing.T) {
	ring := &memoryRing{secrets: map[string]string{}}
	dir := t.TempDir()
	put(t, NewStore(dir, ring), "a", "token-a")
	long := strings.Repeat("t", 100_000) // more than any keyring takes
	put(t, NewStore(dir, ring), "b", long)
	s := NewStore(dir, ring)
	if got(t, s, "a") != "token-a" || got(t, s, "b") != long || !s.sealed(t.Context()) {
		t.Error("what was sealed is not there")
	}
	data, err := os.ReadFile(s.path())
	if err != nil || strings.Contains(string(data), "token-a") || strings.Contains(string(data), `https://a`) {
		t.Errorf("the file shows what it should hide: %v", err)
	}
	if len(ring.secrets) != 1 {
		t.Errorf("the keyring has %d secrets, want one key", len(ring.secrets))
	}
	for _, key := range ring.secrets {
		if strings.Contains(string(data), key) {
			t.Error("the key is in the file")
		}
	}

	t.Run("a locked keyring is asked only about servers that were signed in to", func(t *testing.T) {
		locked := NewStore(dir, &memoryRing{err: errors.New("locked")})
		if g, _, err := locked.find(t.Context(), "c", "https://c"); g != nil || err != nil {
			t.Errorf("got %v, %v", g, err)
		}
		if _, _, err := locked.find(t.Context(), "a", "https://a"); err == nil || !strings.Contains(err.Error(), "locked") {
			t.Errorf("got %v", err)
		}
		if err := locked.update(t.Context(), func(*content) error { return nil }); err == nil {
			t.Error("what cannot be read was written over")
		}
	})
	t.Run("a changed file is noticed", func(t *testing.T) {
		changed := append([]byte{}, data...)
		at := strings.Index(string(changed), `"sealed":"`) + 200
		changed[at] ^= 1
		other := NewStore(t.TempDir(), ring)
		ring.secrets[other.path()] = ring.secrets[s.path()]
		if err := os.WriteFile(other.path(), changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := other.find(t.Context(), "a", "https://a"); err == nil {
			t.Error("accepted")
		}
	})
	t.Run("a lost key costs what was sealed with it", func(t *testing.T) {
		fresh := NewStore(dir, &memoryRing{secrets: map[string]string{}})
		put(t, fresh, "d", "token-d")
		if got(t, fresh, "d") != "token-d" || got(t, fresh, "a") != "" {
			t.Error("the new sign-in is not what is kept")
		}
	})
}

func TestProcessesDoNotLoseEachOthersChanges(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	const each = 15
	for p := range 4 {
		s := NewStore(dir, nil)
		wg.Go(func() {
			for i := range each {
				put(t, s, fmt.Sprintf("s%d-%d", p, i), "token")
			}
		})
	}
	wg.Wait()
	c, _, err := NewStore(dir, nil).load(t.Context())
	if err != nil || len(c.Grants) != 4*each {
		t.Errorf("%d sign-ins are kept, want %d: %v", len(c.Grants), 4*each, err)
	}
}

func TestAFileThatIsNotOursIsNotWrittenOver(t *testing.T) {
	for _, text := range []string{"", "{}", `{"version":2,"open":{}}`, "null", "[1]"} {
		s := NewStore(t.TempDir(), nil)
		if err := os.WriteFile(s.path(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.update(t.Context(), func(*content) error { return nil }); err == nil {
			t.Errorf("%q was written over", text)
		}
	}
}
