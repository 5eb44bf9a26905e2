package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

const sessionHeader = "Mcp-Session-Id"

// httpServer is the streamable HTTP transport: the sessions of the legacy era,
// and requests without a session of the modern one.
type httpServer struct {
	server *server
	// stopping ends the event streams.
	stopping context.Context

	mu       sync.Mutex
	sessions map[string]*inFlight
	// modern has the requests without a session. As in the protocol, nobody
	// can cancel those but by closing the connection.
	modern inFlight
}

func serveHTTP(ctx context.Context, s *server, out io.Writer) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.options.http)
	if err != nil {
		return fmt.Errorf("http: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	h := &httpServer{server: s, stopping: ctx, sessions: map[string]*inFlight{}}
	s.forget = func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		clear(h.sessions)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = web.Close() })
	if _, err := fmt.Fprintf(out, "http://%s/mcp\n", listener.Addr()); err != nil {
		return fmt.Errorf("http: %w", err)
	}
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("http: %w", err)
	}
	return nil
}

func (h *httpServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if token := h.server.options.bearer; token != "" && r.Header.Get("Authorization") != "Bearer "+token {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	switch r.Method {
	case http.MethodPost:
		h.post(w, r)
	case http.MethodGet:
		h.events(w, r)
	case http.MethodDelete:
		h.mu.Lock()
		delete(h.sessions, r.Header.Get(sessionHeader))
		h.mu.Unlock()
	default:
		http.Error(w, "use POST, GET or DELETE", http.StatusMethodNotAllowed)
	}
}

// session returns the requests of the request's session; it answers itself
// when there is no such session.
func (h *httpServer) session(w http.ResponseWriter, r *http.Request) *inFlight {
	id := r.Header.Get(sessionHeader)
	if id == "" {
		http.Error(w, "no "+sessionHeader, http.StatusBadRequest)
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	flying := h.sessions[id]
	if flying == nil {
		http.Error(w, "no such session", http.StatusNotFound)
	}
	return flying
}

func (h *httpServer) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var message request
	if err := json.Unmarshal(body, &message); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(errorReply(nil, errorf(codeParse, "parse: %v", err)))
		return
	}
	flying := &h.modern
	switch {
	case message.Method == "initialize":
		if h.server.options.era != "modern" && !h.server.options.hangInitialize {
			id := rand.Text()
			flying = &inFlight{}
			h.mu.Lock()
			h.sessions[id] = flying
			h.mu.Unlock()
			w.Header().Set(sessionHeader, id)
		}
	case message.Method == "server/discover", r.Header.Get("Mcp-Protocol-Version") >= modernVersion:
	default:
		if flying = h.session(w, r); flying == nil {
			return
		}
	}
	if message.ID == nil {
		if message.Method == "notifications/cancelled" {
			flying.cancelled(&message)
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	h.reply(w, r, &message, flying)
}

func (h *httpServer) reply(w http.ResponseWriter, r *http.Request, message *request, flying *inFlight) {
	ctx, done := flying.begin(r.Context(), message.ID)
	defer done()
	defer context.AfterFunc(h.stopping, done)()
	c := client{flush: func() {}, header: r.Header}
	stream := h.server.options.sseReplies || message.Method == "subscriptions/listen"
	var events *eventStream
	if stream {
		events = newEventStream(w)
		events.open()
		c.send = events.send
	}
	reply := h.server.answer(ctx, c, message)
	if reply == nil {
		<-ctx.Done() // a server that never answers keeps the connection
		return
	}
	if stream {
		events.send(reply)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(reply)
}

// events is the stream of a legacy session for what is not part of a reply.
func (h *httpServer) events(w http.ResponseWriter, r *http.Request) {
	if h.session(w, r) == nil {
		return
	}
	stream := newEventStream(w)
	l := &listener{send: stream.send}
	h.server.listen(l) // before the client sees the stream, and relies on it
	defer h.server.unlisten(l)
	stream.open()
	select {
	case <-r.Context().Done():
	case <-h.stopping.Done():
	}
}

// eventStream writes server-sent events.
type eventStream struct {
	mu sync.Mutex
	w  http.ResponseWriter
}

func newEventStream(w http.ResponseWriter) *eventStream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	return &eventStream{w: w}
}

// open sends the headers, unless an event has been quicker.
func (e *eventStream) open() {
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = http.NewResponseController(e.w).Flush()
}

func (e *eventStream) send(message []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, _ = fmt.Fprintf(e.w, "event: message\ndata: %s\n\n", message)
	_ = http.NewResponseController(e.w).Flush()
}
