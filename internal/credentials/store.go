package credentials

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

const (
	storeFile    = "credentials.json"
	storeVersion = 1
	maxStore     = 8 << 20
	// lockRetry is how often a lock that another process holds is tried.
	lockRetry = 20 * time.Millisecond
)

// content is what a store keeps.
type content struct {
	Grants  []grant  `json:"grants"`
	Clients []client `json:"clients"` // one for each issuer, registered by us
}

// grant is what came of one sign-in. Tokens are used for its server and at its
// issuer only.
type grant struct {
	Server   string `json:"server"` // the configured name
	URL      string `json:"url"`    // where its access token is sent
	Issuer   string `json:"issuer"`
	Resource string `json:"resource"`
	ClientID string `json:"client_id"`
	Method   string `json:"token_endpoint_auth_method"`

	TokenEndpoint      string `json:"token_endpoint"`
	RevocationEndpoint string `json:"revocation_endpoint,omitempty"`

	AccessToken  string    `json:"access_token,omitempty"`
	RefreshToken string    `json:"refresh_token,omitempty"`
	Obtained     time.Time `json:"obtained,omitzero"`
	Expires      time.Time `json:"expires,omitzero"` // of the access token; zero if nobody said
	Scopes       []string  `json:"scopes,omitempty"`
	Wanted       []string  `json:"wanted,omitempty"` // scopes that the server has missed since
	SignedIn     time.Time `json:"signed_in"`
	// Ended says why the tokens cannot be renewed any more.
	Ended string `json:"ended,omitempty"`
}

func (c *content) grant(server, url string) *grant {
	for i := range c.Grants {
		if g := &c.Grants[i]; g.Server == server && g.URL == url {
			return g
		}
	}
	return nil
}

func (c *content) put(g grant) {
	c.remove(g.Server, g.URL)
	c.Grants = append(c.Grants, g)
}

func (c *content) remove(server, url string) {
	c.Grants = slices.DeleteFunc(c.Grants, func(g grant) bool { return g.Server == server && g.URL == url })
}

func (c *content) client(issuer string) *client {
	for i := range c.Clients {
		if c.Clients[i].Issuer == issuer {
			return &c.Clients[i]
		}
	}
	return nil
}

func (c *content) putClient(new client) {
	c.dropClient(new.Issuer)
	c.Clients = append(c.Clients, new)
}

func (c *content) dropClient(issuer string) {
	c.Clients = slices.DeleteFunc(c.Clients, func(known client) bool { return known.Issuer == issuer })
}

// Store keeps sign-ins in a folder of the user's, for all processes of
// ptc-mcp: in one file with mode 0600, sealed with a key from the keyring where
// there is one.
type Store struct {
	dir  string
	ring Keyring

	mu  sync.Mutex
	key string // from the keyring, once it was asked
}

// NewStore returns the store in a folder, which need not be there yet. ring may
// be nil.
func NewStore(dir string, ring Keyring) *Store { return &Store{dir: dir, ring: ring} }

// DefaultFolder is where a user's sign-ins are: ptc-mcp/credentials in
// $XDG_STATE_HOME, else in ~/.local/state, or the system's folder for a user's
// programs on macOS and Windows.
func DefaultFolder() (string, error) {
	base := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(base) {
		var err error
		switch runtime.GOOS {
		case "darwin":
			base, err = os.UserConfigDir()
		case "windows":
			base, err = os.UserCacheDir() // %LocalAppData%: it does not roam
		default:
			base, err = os.UserHomeDir()
			base = filepath.Join(base, ".local", "state")
		}
		if err != nil {
			return "", fmt.Errorf("credentials: no folder to keep them in: %w", err)
		}
	}
	return filepath.Join(base, "ptc-mcp", "credentials"), nil
}

func (s *Store) path() string { return filepath.Join(s.dir, storeFile) }

// load returns what is kept, and the file it was in; no file is no content. env
// is not nil when only the key is missing.
func (s *Store) load(ctx context.Context) (c *content, env *envelope, err error) {
	file, err := os.Open(s.path())
	if errors.Is(err, fs.ErrNotExist) {
		return &content{}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil {
		return nil, nil, err
	} else if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, nil, fmt.Errorf("others than you may read or write it (mode %04o): take that away with chmod 600, and sign in anew if you do not know why", info.Mode().Perm())
	}
	data, err := io.ReadAll(io.LimitReader(file, maxStore+1))
	if err != nil {
		return nil, nil, err
	}
	env = &envelope{}
	if len(data) > maxStore || json.Unmarshal(data, env) != nil || env.Version != storeVersion || env.Open == nil && env.Sealed == nil {
		return nil, nil, errors.New("not a file that this version of ptc-mcp has written; remove it and sign in anew")
	}
	if env.Open != nil {
		return env.Open, env, nil
	}
	key, err := s.ringKey(ctx)
	if err != nil {
		return nil, env, fmt.Errorf("it is sealed, and its key cannot be had: %w", err)
	}
	plain, err := unseal(key, env.Sealed)
	if err != nil {
		s.forgetKey() // another process may have made a new one
		return nil, env, err
	}
	c = &content{}
	if err := json.Unmarshal(plain, c); err != nil {
		return nil, env, errors.New("what is sealed in it is not what ptc-mcp writes")
	}
	return c, env, nil
}

func (s *Store) ringKey(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key != "" {
		return s.key, nil
	}
	if s.ring == nil {
		return "", ErrNoKeyring
	}
	key, err := s.ring.Get(ctx, s.path())
	if err != nil {
		return "", err
	}
	s.key = key
	return key, nil
}

func (s *Store) forgetKey() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = ""
}

// find returns what came of the sign-in at one server, and the client that was
// registered for it; both are nil where there is none. The keyring is not asked
// about servers that nobody has signed in to.
func (s *Store) find(ctx context.Context, server, url string) (*grant, *client, error) {
	c, env, err := s.load(ctx)
	if env != nil && env.Sealed != nil && !slices.Contains(env.Index, indexName(server, url)) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("credentials in %s: %w", s.path(), err)
	}
	g := c.grant(server, url)
	if g == nil {
		return nil, nil, nil
	}
	return g, c.client(g.Issuer), nil
}

// indexName stands for a server without naming it.
func indexName(server, url string) string {
	sum := sha256.Sum256([]byte(server + "\x00" + url))
	return hex.EncodeToString(sum[:8])
}

// update changes what is kept, one process at a time. Nothing is written when
// change returns an error.
func (s *Store) update(ctx context.Context, change func(*content) error) error {
	unlock, err := s.lock(ctx, "lock")
	if err != nil {
		return err
	}
	defer unlock()
	c, env, err := s.load(ctx)
	if err != nil && !(env != nil && errors.Is(err, ErrNoSecret)) { // without its key, what was sealed is lost
		return fmt.Errorf("credentials in %s: %w", s.path(), err)
	}
	if c == nil {
		c, env = &content{}, nil
	}
	if err := change(c); err != nil {
		return err
	}
	if err := s.save(ctx, c, env); err != nil {
		return fmt.Errorf("credentials in %s: %w", s.path(), err)
	}
	return nil
}

// save writes what is kept, in the same way as before; a new file is sealed if
// there is a keyring.
func (s *Store) save(ctx context.Context, c *content, before *envelope) error {
	after := envelope{Version: storeVersion, Open: c}
	if before == nil || before.Sealed != nil {
		key, err := s.sealingKey(ctx, before == nil)
		switch {
		case err == nil:
			plain, err := json.Marshal(c)
			if err != nil {
				return err
			}
			after.Open = nil
			for _, g := range c.Grants {
				after.Index = append(after.Index, indexName(g.Server, g.URL))
			}
			if after.Sealed, err = seal(key, plain); err != nil {
				return err
			}
		case before != nil:
			return err
		}
	}
	data, err := json.Marshal(after)
	if err != nil {
		return err
	}
	return s.replace(data)
}

// sealingKey returns the key; a new one if there may be none yet.
func (s *Store) sealingKey(ctx context.Context, first bool) (string, error) {
	key, err := s.ringKey(ctx)
	if err == nil || !first || s.ring == nil {
		return key, err
	}
	key = newKey()
	if err := s.ring.Set(ctx, s.path(), key); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key
	return key, nil
}

// replace puts a new file in the old one's place at once.
func (s *Store) replace(data []byte) error {
	file, err := os.CreateTemp(s.dir, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), s.path())
}

// lockGrant waits until nobody else renews or replaces the sign-in at a server.
func (s *Store) lockGrant(ctx context.Context, server, url string) (unlock func(), err error) {
	return s.lock(ctx, "lock-"+indexName(server, url))
}

// lock waits until no other process, and nothing else in this one, holds the
// lock of that name.
func (s *Store) lock(ctx context.Context, name string) (unlock func(), err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	if err := os.Chmod(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	path := filepath.Join(s.dir, name)
	l := flock.New(path, flock.SetPermissions(0o600))
	if _, err := l.TryLockContext(ctx, lockRetry); err != nil {
		return nil, fmt.Errorf("credentials: %s is locked: %w", path, err)
	}
	return func() { _ = l.Unlock() }, nil
}

// sealed reports whether the file is sealed with a key from the keyring.
func (s *Store) sealed(ctx context.Context) bool {
	_, env, _ := s.load(ctx)
	return env != nil && env.Sealed != nil
}

// stamp tells one state of the file from another.
func (s *Store) stamp() time.Time {
	info, err := os.Stat(s.path())
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
