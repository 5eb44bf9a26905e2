//go:build unix

package downstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// keys are credentials that are renewed when they are refused, as long as there
// are better ones.
type keys struct {
	mu      sync.Mutex
	keys    []string // the first is in use
	spent   error    // what to say when there are no more
	renewed chan struct{}
}

func (k *keys) Header(context.Context) (http.Header, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.keys) == 0 {
		return nil, k.spent
	}
	return http.Header{"X-Key": {k.keys[0]}}, nil
}

func (k *keys) Refused(_ context.Context, sent http.Header, status int, answer http.Header) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case status == http.StatusForbidden && answer.Get("X-Why") != "":
		return false, errors.New("sign in for more: " + answer.Get("X-Why"))
	case status == http.StatusForbidden:
		return false, nil
	case len(k.keys) > 0 && k.keys[0] == sent.Get("X-Key"):
		k.keys = k.keys[1:]
	}
	if len(k.keys) == 0 {
		return false, k.spent
	}
	return true, nil
}

func (k *keys) Renewed(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-k.renewed:
	}
}

func (k *keys) use(all ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys = all
}

// locked lets in whoever has the key, which can be changed.
type locked struct {
	http.Handler
	mu       sync.Mutex
	key      string
	refusals int
	// forbidden answers a request with 403 instead, and says why in a header.
	forbidden string
}

func (l *locked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	forbidden, good := l.forbidden, r.Header.Get("X-Key") == l.key
	if !good {
		l.refusals++
	}
	l.mu.Unlock()
	switch {
	case !good:
		http.Error(w, "wrong key", http.StatusUnauthorized)
	case forbidden != "":
		w.Header().Set("X-Why", forbidden)
		http.Error(w, "not you", http.StatusForbidden)
	default:
		l.Handler.ServeHTTP(w, r)
	}
}

func (l *locked) set(key, forbidden string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.key, l.forbidden, l.refusals = key, forbidden, 0
}

func TestRefusedCredentialsAreRenewedAndTheRequestIsMadeAgain(t *testing.T) {
	for _, kind := range httpKinds {
		t.Run(kind, func(t *testing.T) {
			r := startReal(t, kind)
			door := &locked{Handler: r.http.Config.Handler, key: "two"}
			r.http.Config.Handler = door
			config := r.config()
			k := &keys{keys: []string{"one", "two", "three"}, spent: errors.New("sign in again"), renewed: make(chan struct{}, 1)}
			config.Credentials = k
			s := connected(t, config)
			door.set("three", "")
			var wg sync.WaitGroup
			for i := range 10 {
				wg.Go(func() {
					if got := callText(t, s, "echo", fmt.Sprintf(`{"s":"%d"}`, i)); got != fmt.Sprint(i) {
						t.Errorf("call %d returned %s", i, got)
					}
				})
			}
			wg.Wait()

			// What is forbidden to this call does not end the session.
			door.set("three", "read only")
			if _, err := call(t, s, "echo", "{}"); err == nil || !strings.Contains(err.Error(), "sign in for more: read only") {
				t.Errorf("got %v", err)
			}
			door.set("three", "")
			if got := callText(t, s, "echo", `{"s":"still there"}`); got != "still there" {
				t.Errorf("got %q", got)
			}

			// With nothing better, the session is down and says why, and comes
			// back when there is.
			door.set("four", "")
			if _, err := call(t, s, "echo", "{}"); !errors.Is(err, ErrDown) || !strings.Contains(err.Error(), "sign in again") {
				t.Errorf("got %v", err)
			}
			eventually(t, s, "down", func(st Status) bool {
				return st.State == Down && st.Err != nil && st.Err.Error() == "sign in again"
			})
			k.use("four")
			k.renewed <- struct{}{}
			if err := s.Connected(patient(t)); err != nil {
				t.Fatal(err)
			}
			if got := callText(t, s, "echo", `{"s":"back"}`); got != "back" {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestCredentialsThatNeverDoAreNotTriedForEver(t *testing.T) {
	f := &fakeHTTP{}
	door := &locked{Handler: f, key: "none"}
	c := serveCounted(t, door, false)
	config := c.config()
	config.Credentials = &keys{keys: []string{"one", "two"}, spent: errors.New("sign in again")}
	s := New(config)
	t.Cleanup(func() { s.Close() })
	s.Start()
	<-s.Settled()
	if err := s.Status().Err; err == nil || err.Error() != "sign in again" {
		t.Errorf("got %v", err)
	}
	door.mu.Lock()
	defer door.mu.Unlock()
	if door.refusals != 2 {
		t.Errorf("the server refused %d requests", door.refusals)
	}
}

func TestAServerIsAskedHowToSignIn(t *testing.T) {
	for transport, method := range map[string]string{"http": http.MethodPost, "sse": http.MethodGet} {
		c := serveCounted(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != method || r.Header.Get("X-Key") != "" || r.Header.Get("X-Static") != "yes" {
				t.Errorf("asked with %s and the header %v", r.Method, r.Header)
			}
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
		}), false)
		config := c.config()
		config.Transport, config.Headers = transport, map[string]string{"X-Static": "yes"}
		config.Credentials = &keys{keys: []string{"one"}}
		status, header, err := Challenge(t.Context(), config)
		if err != nil || status != http.StatusUnauthorized || header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: %d, %v, %v", transport, status, header, err)
		}
	}
}
