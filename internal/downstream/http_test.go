//go:build unix

package downstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// realServer is mcp-go's server behind one HTTP transport, at an address that
// survives restarts.
type realServer struct {
	t       *testing.T
	kind    string // legacy, modern or sse
	address string
	mcp     *server.MCPServer
	http    *httptest.Server
	entered chan struct{} // the slow tool was called
	left    chan struct{} // its request was cancelled
	over    chan struct{} // the test has ended
}

var httpKinds = []string{"legacy", "modern", "sse"}

func startReal(t *testing.T, kind string) *realServer {
	r := &realServer{t: t, kind: kind, address: "127.0.0.1:0", entered: make(chan struct{}, 10), left: make(chan struct{}, 10), over: make(chan struct{})}
	r.start()
	t.Cleanup(func() { close(r.over); r.stop() })
	return r
}

// start serves a new instance: it knows no earlier session.
func (r *realServer) start() {
	r.t.Helper()
	listener, err := net.Listen("tcp", r.address)
	if err != nil {
		r.t.Fatal(err)
	}
	r.address = listener.Addr().String()
	r.http = &httptest.Server{Listener: listener, Config: &http.Server{Handler: r.handler()}}
	r.http.Start()
}

func (r *realServer) stop() {
	r.http.CloseClientConnections()
	r.http.Close()
}

func (r *realServer) handler() http.Handler {
	r.mcp = server.NewMCPServer("real", "2", server.WithToolCapabilities(true))
	r.mcp.AddTool(mcp.NewTool("echo", mcp.WithReadOnlyHintAnnotation(true)), func(_ context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(fmt.Sprint(request.GetArguments()["s"])), nil
	})
	r.mcp.AddTool(mcp.NewTool("slow"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r.entered <- struct{}{}
		select {
		case <-ctx.Done():
			r.left <- struct{}{}
		case <-r.over: // mcp-go's SSE server does not end requests
		}
		return nil, ctx.Err()
	})
	switch r.kind {
	case "sse":
		return server.NewSSEServer(r.mcp, server.WithBaseURL("http://"+r.address))
	case "modern":
		return server.NewStreamableHTTPServer(r.mcp, server.WithStateful(true))
	default:
		return withoutDiscover(server.NewStreamableHTTPServer(r.mcp, server.WithStateful(true)))
	}
}

// withoutDiscover makes a server as old as those that do not know the method.
func withoutDiscover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		var r fakeRequest
		if json.Unmarshal(body, &r) == nil && r.Method == "server/discover" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`, r.ID)
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, req)
	})
}

func (r *realServer) config() Config {
	config := Config{Name: "real", Transport: "http", URL: "http://" + r.address + "/mcp", MaxResultBytes: 1 << 20}
	if r.kind == "sse" {
		config.Transport, config.URL = "sse", "http://"+r.address+"/sse"
	}
	return config
}

func TestHTTPSessionsCallFollowAndCancel(t *testing.T) {
	for _, kind := range httpKinds {
		t.Run(kind, func(t *testing.T) {
			r := startReal(t, kind)
			s := connected(t, r.config())
			if got, want := s.Status().Protocol == "2026-07-28", kind != "legacy"; kind != "sse" && got != want {
				t.Errorf("protocol %s", s.Status().Protocol)
			}
			if got := names(s.Status().Tools); !slices.Equal(got, []string{"echo", "slow"}) {
				t.Fatalf("tools %q", got)
			}
			var wg sync.WaitGroup
			for i := range 50 {
				wg.Go(func() {
					if got := callText(t, s, "echo", fmt.Sprintf(`{"s":"%d"}`, i)); got != fmt.Sprint(i) {
						t.Errorf("call %d returned %s", i, got)
					}
				})
			}
			wg.Wait()
			var rpc *RPCError
			if _, err := call(t, s, "nothing", "{}"); !errors.As(err, &rpc) {
				t.Errorf("unknown tool: %v", err)
			}

			ctx, cancel := context.WithCancel(patient(t))
			ended := make(chan error, 1)
			go func() {
				_, err := s.Call(ctx, "slow", nil)
				ended <- err
			}()
			await(t, r.entered, "the call to arrive")
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled call: %v", err)
			}
			await(t, r.left, "the call to be cancelled at the server")

			// The stream of notifications opens beside the session, so change
			// the list until it is heard.
			heard := func(st Status) bool { return len(st.Tools) > 2 }
			for i := 0; !heard(s.Status()); i++ {
				r.mcp.AddTool(mcp.NewTool(fmt.Sprintf("new%d", i)), nil)
				if i == 0 {
					continue
				}
				waitChange(s, 200*time.Millisecond)
				if i > 200 {
					t.Fatal("tools/list_changed was not followed")
				}
			}
		})
	}
}

func await(t *testing.T, ch <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-ch:
	case <-patient(t).Done():
		t.Fatalf("waited in vain for %s", what)
	}
}

func waitChange(s *Session, d time.Duration) {
	s.mu.Lock()
	changed := s.changed
	s.mu.Unlock()
	select {
	case <-changed:
	case <-time.After(d):
	}
}

func TestAnHTTPServersRestartIsNoticedAndSurvived(t *testing.T) {
	for _, kind := range httpKinds {
		t.Run(kind, func(t *testing.T) {
			r := startReal(t, kind)
			s := New(r.config())
			s.timing.minBackoff, s.timing.keepAlive = 50*time.Millisecond, 200*time.Millisecond
			s.Start()
			t.Cleanup(func() { s.Close() })
			if err := s.Connected(patient(t)); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() {
				_, err := s.Call(patient(t), "slow", nil)
				ended <- err
			}()
			await(t, r.entered, "the call to arrive")
			r.stop()
			if err := <-ended; !errors.Is(err, ErrLost) {
				t.Errorf("call under way: %v", err)
			}
			eventually(t, s, "noticed", func(st Status) bool { return st.State == Down && len(st.Tools) == 0 })
			if _, err := call(t, s, "echo", "{}"); !errors.Is(err, ErrDown) {
				t.Errorf("call while down: %v", err)
			}
			r.start()
			if err := s.Connected(patient(t)); err != nil {
				t.Fatal(err)
			}
			if got := callText(t, s, "echo", `{"s":"again"}`); got != "again" {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestAnIdleHTTPServersDeathIsNoticed(t *testing.T) {
	for _, kind := range httpKinds {
		t.Run(kind, func(t *testing.T) {
			r := startReal(t, kind)
			s := New(r.config())
			s.timing.keepAlive = 200 * time.Millisecond
			s.Start()
			t.Cleanup(func() { s.Close() })
			if err := s.Connected(patient(t)); err != nil {
				t.Fatal(err)
			}
			r.stop()
			eventually(t, s, "noticed", func(st Status) bool { return st.State == Down })
		})
	}
}

// fakeHTTP is a server of protocol 2025-11-25 or 2026-07-28 written out by
// hand, for what a real one does not do.
type fakeHTTP struct {
	modern  bool
	session string
	// handle answers a request and returns true, or leaves it to the default.
	handle func(w http.ResponseWriter, req *http.Request, r fakeRequest) bool
}

func (f *fakeHTTP) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	var r fakeRequest
	_ = json.Unmarshal(body, &r)
	if f.handle != nil && f.handle(w, req, r) {
		return
	}
	if req.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	switch {
	case r.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case r.Method == "server/discover" && f.modern:
		answer(w, r, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
	case r.Method == "initialize":
		if f.session != "" {
			w.Header().Set("Mcp-Session-Id", f.session)
		}
		answer(w, r, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"f","version":"1"}}`)
	case r.Method == "tools/list":
		answer(w, r, `{"tools":[`+fakeTools+`]}`)
	case r.Method == "tools/call", r.Method == "ping":
		answer(w, r, `{"content":[]}`)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`, r.ID)
	}
}

func answer(w http.ResponseWriter, r fakeRequest, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, result)
}

func serveFake(t *testing.T, f *fakeHTTP) Config {
	srv := httptest.NewServer(f)
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return Config{Name: "fake", Transport: "http", URL: srv.URL + "/mcp", MaxResultBytes: 1 << 20}
}

func TestALostHTTPSessionIsBegunAgain(t *testing.T) {
	for _, refusal := range []struct {
		name   string
		status int
		body   string
	}{
		{"404", 404, ""},
		{"400 that speaks of the session", 400, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`},
	} {
		t.Run(refusal.name, func(t *testing.T) {
			var mu sync.Mutex
			known := "one"
			f := &fakeHTTP{}
			f.handle = func(w http.ResponseWriter, req *http.Request, r fakeRequest) bool {
				mu.Lock()
				defer mu.Unlock()
				if r.Method == "initialize" {
					f.session = known
					return false
				}
				if got := req.Header.Get("Mcp-Session-Id"); got != known && r.Method != "server/discover" {
					w.WriteHeader(refusal.status)
					fmt.Fprint(w, refusal.body)
					return true
				}
				return false
			}
			s := connected(t, serveFake(t, f))
			mu.Lock()
			known = "two"
			mu.Unlock()
			if _, err := call(t, s, "echo", "{}"); !errors.Is(err, ErrLost) {
				t.Fatalf("got %v", err)
			}
			if err := s.Connected(patient(t)); err != nil {
				t.Fatal(err)
			}
			if _, err := call(t, s, "echo", "{}"); err != nil {
				t.Errorf("in the new session: %v", err)
			}
		})
	}
}

func TestAServerThatStopsAnsweringPingsIsDown(t *testing.T) {
	stuck := make(chan struct{})
	f := &fakeHTTP{handle: func(_ http.ResponseWriter, req *http.Request, r fakeRequest) bool {
		if r.Method == "ping" {
			select {
			case <-req.Context().Done():
			case <-stuck:
			}
			return true
		}
		return false
	}}
	config := serveFake(t, f)
	t.Cleanup(func() { close(stuck) })
	s := New(config)
	s.timing.keepAlive, s.timing.ping = 20*time.Millisecond, 100*time.Millisecond
	s.Start()
	t.Cleanup(func() { s.Close() })
	if err := s.Connected(patient(t)); err != nil {
		t.Fatal(err)
	}
	eventually(t, s, "noticed", func(st Status) bool {
		return st.State == Down && strings.Contains(st.Err.Error(), "pings")
	})
}

func TestOneBrokenRequestDoesNotEndAHealthySession(t *testing.T) {
	f := &fakeHTTP{handle: func(w http.ResponseWriter, _ *http.Request, r fakeRequest) bool {
		switch r.Params.Name {
		case "reset":
			panic(http.ErrAbortHandler)
		case "teapot":
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprint(w, "short\n and stout")
		case "html":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<p>")
		case "nothing":
			w.WriteHeader(http.StatusAccepted)
		case "broken":
			answer(w, r, `{"content":[}`)
		default:
			return false
		}
		return true
	}}
	s := connected(t, serveFake(t, f))
	generation := s.Status().Generation
	for tool, want := range map[string]string{
		"reset": "connection lost", "teapot": "HTTP status 418: short and stout", "html": `content type "text/html"`,
		"nothing": "HTTP status 202", "broken": "without a response",
	} {
		_, err := call(t, s, tool, "{}")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", tool, err, want)
		}
		if errors.Is(err, ErrLost) != (tool == "reset") {
			t.Errorf("%s: lost: %v", tool, err)
		}
	}
	if st := s.Status(); st.State != Connected || st.Generation != generation {
		t.Errorf("status %+v", st)
	}
}

func TestHTTPResultsOverTheLimitFailAlone(t *testing.T) {
	const size = 20 << 20
	send := func(w io.Writer, r fakeRequest) {
		fmt.Fprint(w, `{"result":{"content":[{"type":"text","id":5,"text":"`)
		block := bytes.Repeat([]byte("y"), 1<<20)
		for range size / len(block) {
			_, _ = w.Write(block)
		}
		fmt.Fprintf(w, `"}]},"jsonrpc":"2.0","id":%s}`, r.ID)
	}
	f := &fakeHTTP{handle: func(w http.ResponseWriter, _ *http.Request, r fakeRequest) bool {
		switch r.Params.Name {
		case "json":
			w.Header().Set("Content-Type", "application/json")
			send(w, r)
		case "events":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: message\r\ndata: ")
			send(w, r)
			fmt.Fprint(w, "\r\n\r\n")
		default:
			return false
		}
		return true
	}}
	config := serveFake(t, f)
	s := connected(t, config)
	for _, tool := range []string{"json", "events"} {
		if _, err := call(t, s, tool, "{}"); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", tool, err)
		}
	}
	if _, err := call(t, s, "echo", "{}"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	config.MaxResultBytes = size
	wide := connected(t, config)
	for _, tool := range []string{"json", "events"} {
		if raw, err := call(t, wide, tool, "{}"); err != nil || len(raw) < size {
			t.Errorf("%s within the limit: %d bytes, %v", tool, len(raw), err)
		}
	}
}

func TestAStreamThatEndsEarlyIsResumed(t *testing.T) {
	var mu sync.Mutex
	var waiting json.RawMessage
	f := &fakeHTTP{handle: func(w http.ResponseWriter, req *http.Request, r fakeRequest) bool {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Params.Name == "resume":
			waiting = r.ID
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, ": hello\nid: 41\nretry: 1\ndata:\n\n")
		case req.Header.Get("Last-Event-ID") == "41":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "id: 42\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":%s,\"result\":{\"content\":[],\"x\":1}}\n\n", waiting)
		default:
			return false
		}
		return true
	}}
	s := connected(t, serveFake(t, f))
	raw, err := call(t, s, "resume", "{}")
	if err != nil || string(raw) != `{"content":[],"x":1}` {
		t.Errorf("%v: %s", err, raw)
	}
}

func TestServersRequestsOverHTTPAreAnswered(t *testing.T) {
	answers := make(chan string, 2)
	f := &fakeHTTP{}
	f.handle = func(w http.ResponseWriter, _ *http.Request, r fakeRequest) bool {
		switch {
		case r.Params.Name == "ask":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":\"roots/list\"}\n\n")
			w.(http.Flusher).Flush()
			got := []string{<-answers, <-answers}
			slices.Sort(got)
			text, _ := json.Marshal(strings.Join(got, " "))
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":%s}]}}\n\n", r.ID, text)
		case r.Method == "" && r.ID != nil:
			answers <- string(r.ID) + string(r.Result) + string(r.Error)
			w.WriteHeader(http.StatusAccepted)
		default:
			return false
		}
		return true
	}
	s := connected(t, serveFake(t, f))
	if got, want := callText(t, s, "ask", "{}"), `"a"{} "b"{"code":-32601,"message":"method not found: roots/list"}`; got != want {
		t.Errorf("answered %s, want %s", got, want)
	}
}

func TestModernHeadersMirrorTheRequest(t *testing.T) {
	headers := make(chan http.Header, 1)
	f := &fakeHTTP{modern: true, handle: func(w http.ResponseWriter, req *http.Request, r fakeRequest) bool {
		switch r.Method {
		case "tools/list":
			answer(w, r, `{"tools":[
				{"name":"routed","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}},
				{"name":"invalid","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"not a token"}}}},
				{"name":"odd","inputSchema":{"type":["object","null"]}}]}`)
		case "tools/call":
			headers <- req.Header
			return false
		default:
			return false
		}
		return true
	}}
	config := serveFake(t, f)
	config.Headers = map[string]string{"Authorization": "Bearer t"}
	s := connected(t, config)
	if got := names(s.Status().Tools); !slices.Equal(got, []string{"routed", "odd"}) {
		t.Errorf("tools %q", got)
	}
	if _, err := call(t, s, "routed", `{"region":"eu"}`); err != nil {
		t.Fatal(err)
	}
	got := <-headers
	for name, want := range map[string]string{
		"Mcp-Method": "tools/call", "Mcp-Name": "routed", "Mcp-Param-Region": "eu",
		"Mcp-Protocol-Version": "2026-07-28", "Authorization": "Bearer t", "Mcp-Session-Id": "",
	} {
		if got.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.Get(name), want)
		}
	}
}

func TestRefusalsSayWhatToDo(t *testing.T) {
	for status, want := range map[int]string{401: "credentials", 404: "transport", 405: "transport", 500: "500"} {
		config := serveFake(t, &fakeHTTP{handle: func(w http.ResponseWriter, _ *http.Request, _ fakeRequest) bool {
			w.WriteHeader(status)
			return true
		}})
		for _, transport := range []string{"http", "sse"} {
			config.Transport = transport
			st := startSession(t, config).Status()
			if st.State != Down || !strings.Contains(st.Err.Error(), want) {
				t.Errorf("%s %d: %v", transport, status, st.Err)
			}
		}
	}
	for _, url := range []string{"", "localhost:80", "ftp://x/y", "http://"} {
		if err := startSession(t, Config{Transport: "http", URL: url}).Status().Err; err == nil || !strings.Contains(err.Error(), "url") {
			t.Errorf("url %q: %v", url, err)
		}
	}
	if err := startSession(t, Config{Transport: "carrier pigeon"}).Status().Err; err == nil || !strings.Contains(err.Error(), "carrier pigeon") {
		t.Errorf("unknown transport: %v", err)
	}
}

func TestRedirectsToAnotherHostAreRefused(t *testing.T) {
	reached := make(chan struct{}, 10)
	other := serveFake(t, &fakeHTTP{handle: func(http.ResponseWriter, *http.Request, fakeRequest) bool {
		reached <- struct{}{}
		return false
	}})
	config := serveFake(t, &fakeHTTP{handle: func(w http.ResponseWriter, req *http.Request, _ fakeRequest) bool {
		http.Redirect(w, req, other.URL, http.StatusTemporaryRedirect)
		return true
	}})
	config.Headers = map[string]string{"X-Api-Key": "secret"}
	st := startSession(t, config).Status()
	if st.State != Down || !strings.Contains(st.Err.Error(), "another host") || len(reached) > 0 {
		t.Errorf("%v, reached %d times", st.Err, len(reached))
	}
}

func TestAnSSEEndpointOnAnotherHostIsRefused(t *testing.T) {
	config := serveFake(t, &fakeHTTP{handle: func(w http.ResponseWriter, req *http.Request, _ fakeRequest) bool {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: endpoint\ndata: http://example.com/steal\n\n")
		w.(http.Flusher).Flush()
		<-req.Context().Done()
		return true
	}})
	config.Transport = "sse"
	if st := startSession(t, config).Status(); st.State != Down || !strings.Contains(st.Err.Error(), "another host") {
		t.Errorf("%v", st.Err)
	}
}

func TestClosingEndsTheHTTPSession(t *testing.T) {
	ended := make(chan string, 1)
	f := &fakeHTTP{session: "s1", handle: func(_ http.ResponseWriter, req *http.Request, _ fakeRequest) bool {
		if req.Method != http.MethodDelete {
			return false
		}
		ended <- req.Header.Get("Mcp-Session-Id")
		return true
	}}
	s := connected(t, serveFake(t, f))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-ended:
		if got != "s1" {
			t.Errorf("ended session %q", got)
		}
	default:
		t.Error("the server was not told")
	}
}
