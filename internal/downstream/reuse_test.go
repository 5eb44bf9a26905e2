//go:build unix

package downstream

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// counted is a server that counts its connections.
type counted struct {
	*httptest.Server
	connections atomic.Int64
	protocols   sync.Map // http.Request.Proto of the calls
}

// serveCounted serves handler, with HTTP/2 over TLS if secure.
func serveCounted(t testing.TB, handler http.Handler, secure bool) *counted {
	c := &counted{}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			c.protocols.Store(r.Proto, true)
		}
		handler.ServeHTTP(w, r)
	}))
	c.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			c.connections.Add(1)
		}
	}
	if secure {
		c.EnableHTTP2 = true
		c.StartTLS()
	} else {
		c.Start()
	}
	t.Cleanup(func() { c.CloseClientConnections(); c.Close() })
	return c
}

func (c *counted) config() Config {
	config := Config{Name: "counted", Transport: "http", URL: c.URL + "/mcp", MaxResultBytes: 1 << 20}
	if cert := c.Certificate(); cert != nil {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AddCert(cert)
	}
	return config
}

// streaming answers every call with an event stream, which it ends a moment
// after the answer.
func streaming(w http.ResponseWriter, req *http.Request, r fakeRequest) bool {
	if r.Method != "tools/call" {
		return false
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", r.ID)
	_ = http.NewResponseController(w).Flush()
	select {
	case <-time.After(2 * time.Millisecond):
	case <-req.Context().Done():
	}
	return true
}

func TestCallsShareTheirConnections(t *testing.T) {
	const calls, atOnce = 1000, 50
	tests := map[string]struct {
		handler     http.Handler
		secure      bool
		proto       string
		connections int64
	}{
		"HTTP/1.1":                   {&fakeHTTP{}, false, "HTTP/1.1", 4 * atOnce},
		"HTTP/1.1, event streams":    {&fakeHTTP{handle: streaming}, false, "HTTP/1.1", 4 * atOnce},
		"HTTP/2":                     {&fakeHTTP{}, true, "HTTP/2.0", 1},
		"HTTP/2, with event streams": {&fakeHTTP{handle: streaming}, true, "HTTP/2.0", 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := serveCounted(t, test.handler, test.secure)
			s := connected(t, c.config())
			var wg sync.WaitGroup
			for range atOnce {
				wg.Go(func() {
					for range calls / atOnce {
						if _, err := call(t, s, "echo", "{}"); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			if got := c.connections.Load(); got > test.connections {
				t.Errorf("%d calls, %d at once, took %d connections; want at most %d", calls, atOnce, got, test.connections)
			}
			c.protocols.Range(func(proto, _ any) bool {
				if proto != test.proto {
					t.Errorf("a call came as %s, want %s", proto, test.proto)
				}
				return true
			})
			t.Logf("%d calls, %d at once: %d connections", calls, atOnce, c.connections.Load())
		})
	}
}

func TestOneCallAfterAnotherTakesFewConnections(t *testing.T) {
	c := serveCounted(t, &fakeHTTP{handle: streaming}, false)
	s := connected(t, c.config())
	for range 200 {
		if _, err := call(t, s, "echo", "{}"); err != nil {
			t.Fatal(err)
		}
	}
	// The end of a stream may come after the next call was sent.
	t.Logf("200 calls: %d connections", c.connections.Load())
	if got := c.connections.Load(); got > 100 {
		t.Errorf("200 calls took %d connections", got)
	}
}

func TestAServersLimitHolds(t *testing.T) {
	const limit, calls = 3, 60
	var under, most atomic.Int64
	f := &fakeHTTP{handle: func(_ http.ResponseWriter, _ *http.Request, r fakeRequest) bool {
		if r.Method == "tools/call" {
			n := under.Add(1)
			defer under.Add(-1)
			for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
			}
			runtime.Gosched()
		}
		return false
	}}
	config := serveFake(t, f)
	config.MaxConcurrentCalls = limit
	s := connected(t, config)
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() {
			if _, err := call(t, s, "echo", "{}"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := most.Load(); got > limit || got < 1 {
		t.Errorf("%d calls were under way at once, the limit is %d", got, limit)
	}
}

func TestCallsWaitInTheOrderTheyCameAndCanGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paused := 0
		q := newQueue(Config{MaxConcurrentCalls: 1, Waiting: func(context.Context) func() {
			paused++
			return func() { paused-- }
		}})
		leave, err := q.enter(t.Context())
		if err != nil || paused != 0 {
			t.Fatalf("the first call: %v, paused %d times", err, paused)
		}
		var order []int
		ctx, giveUp := context.WithCancel(t.Context())
		for n := range 4 {
			ctx := ctx
			if n != 1 {
				ctx = t.Context()
			}
			go func() {
				leave, err := q.enter(ctx)
				if err != nil {
					if n != 1 || !errors.Is(err, context.Canceled) {
						t.Errorf("call %d: %v", n, err)
					}
					return
				}
				order = append(order, n)
				leave()
			}()
			synctest.Wait()
			if paused != n+1 {
				t.Errorf("%d calls are paused, want %d", paused, n+1)
			}
		}
		giveUp()
		synctest.Wait()
		leave()
		synctest.Wait()
		if !slices.Equal(order, []int{0, 2, 3}) || paused != 0 {
			t.Errorf("the turns were %v, and %d calls are still paused", order, paused)
		}
	})
}

func TestACallThatWaitsDoesNotOutliveTheConnection(t *testing.T) {
	f := &fakeHTTP{}
	entered := make(chan struct{}, 1)
	f.handle = func(_ http.ResponseWriter, req *http.Request, r fakeRequest) bool {
		if r.Method != "tools/call" {
			return false
		}
		entered <- struct{}{}
		<-req.Context().Done()
		return true
	}
	config := serveFake(t, f)
	config.MaxConcurrentCalls = 1
	waits := make(chan struct{}, 1)
	config.Waiting = func(context.Context) func() { waits <- struct{}{}; return func() {} }
	s := connected(t, config)
	results := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := s.Call(patient(t), "echo", nil)
			results <- err
		}()
	}
	<-entered
	<-waits
	s.Close()
	for range 2 {
		if err := <-results; !errors.Is(err, ErrLost) && !errors.Is(err, ErrDown) {
			t.Errorf("got %v", err)
		}
	}
}

func TestTheDataOfAHandshakesErrorIsShown(t *testing.T) {
	f := &fakeHTTP{handle: func(w http.ResponseWriter, _ *http.Request, r fakeRequest) bool {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32010,"message":"closed","data":{"why":"maintenance","long":%q}}}`, r.ID, strings.Repeat("x", 5000))
		return true
	}}
	s := New(serveFake(t, f))
	t.Cleanup(func() { s.Close() })
	s.Start()
	<-s.Settled()
	err := s.Status().Err
	if err == nil || !strings.Contains(err.Error(), "closed") || !strings.Contains(err.Error(), `"why":"maintenance"`) {
		t.Errorf("got %v", err)
	}
	if err != nil && len(err.Error()) > 400 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}

func TestCredentialsDoNotFollowARedirectToPlainHTTP(t *testing.T) {
	secure := serveCounted(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The same host and port as far as the address says, without TLS.
		_, _ = io.Copy(io.Discard, r.Body)
		http.Redirect(w, r, "http://"+r.Host+"/mcp", http.StatusTemporaryRedirect)
	}), true)
	config := secure.config()
	config.Headers = map[string]string{"Authorization": "Bearer secret"}
	s := New(config)
	t.Cleanup(func() { s.Close() })
	s.Start()
	<-s.Settled()
	if err := s.Status().Err; err == nil || !strings.Contains(err.Error(), "https to http") {
		t.Errorf("got %v", err)
	}
}

// BenchmarkCalls shows that calls do not queue behind each other on our side:
// run it with -cpu 1,2 -mutexprofile.
func BenchmarkCalls(b *testing.B) {
	for name, secure := range map[string]bool{"HTTP1": false, "HTTP2": true} {
		b.Run(name, func(b *testing.B) {
			s := benchmarkSession(b, serveCounted(b, &fakeHTTP{}, secure).config())
			benchmarkCalls(b, s)
		})
	}
	b.Run("stdio", func(b *testing.B) { benchmarkCalls(b, benchmarkSession(b, fakeConfig(b, "lean"))) })
}

func benchmarkSession(b *testing.B, config Config) *Session {
	s := New(config)
	b.Cleanup(func() { s.Close() })
	s.Start()
	if err := s.Connected(b.Context()); err != nil {
		b.Fatal(err)
	}
	return s
}

func benchmarkCalls(b *testing.B, s *Session) {
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := s.Call(context.Background(), "echo", nil); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
