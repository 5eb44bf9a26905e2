package downstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// errSessionGone is the cause when the server does not know the session any
// more: a new one must be begun.
var errSessionGone = errors.New("server no longer knows the session")

const (
	// How long to wait before a stream is opened again, when the server does
	// not say, and the least and most that it is believed.
	reopenDelay    = time.Second
	minReopenDelay = 10 * time.Millisecond
	maxReopenDelay = time.Minute
)

// streamableLink is streamable HTTP: each request is a POST, answered by JSON
// or by a stream of events; protocols before 2026-07-28 have sessions, and one
// more stream for what the server sends by itself.
type streamableLink struct {
	*httpEndpoint
	session string // guarded by mu; set by initialize
}

func newStreamableLink(config Config, handle handlers) *streamableLink {
	l := &streamableLink{httpEndpoint: newHTTPEndpoint(config, handle)}
	l.send = l.notify
	return l
}

func (l *streamableLink) open(context.Context) error { return l.parseURL() }

func (l *streamableLink) request(ctx context.Context, call outgoing) (response, error) {
	ch, err := l.expect(call.id)
	if err != nil {
		return response{}, err
	}
	defer l.forget(call.id)
	// Apart from ctx, so that the rest of the response can be read when the
	// caller has his answer and has gone on.
	scope, end := l.scope(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, end)
	got, rest, err := l.exchange(scope, call, ch)
	if rest != nil && stop() {
		l.tasks.run(func() { defer end(); drain(rest) })
	} else {
		stop()
		end()
	}
	if err != nil && ctx.Err() != nil {
		// From 2026-07-28 on, the end of the HTTP request is the cancellation.
		if !l.modern() {
			l.cancelled(ctx, call, l.notify)
		}
		return response{}, ctx.Err()
	}
	return got, err
}

// exchange posts a request and reads until its reply has come. rest is what may
// still come of the response, nil when that is nothing.
func (l *streamableLink) exchange(ctx context.Context, call outgoing, ch <-chan reply) (got response, rest io.ReadCloser, err error) {
	resp, session, err := l.post(ctx, call.body, call.header)
	if err != nil {
		return response{}, nil, err
	}
	defer func() {
		if rest == nil {
			resp.Body.Close()
		}
	}()
	if resp.StatusCode/100 != 2 {
		got, err := l.refused(resp, session)
		return got, nil, err
	}
	if call.method == string(mcp.MethodInitialize) {
		l.mu.Lock()
		l.session = resp.Header.Get(headerSession)
		l.mu.Unlock()
	}
	switch media := mediaType(resp); media {
	case "application/json":
		m := &message{limit: l.limit}
		m.reserve(resp.ContentLength)
		if _, err := io.Copy(m, resp.Body); err != nil {
			return response{}, nil, transportError(ctx, err)
		}
		l.receive(m)
	case acceptEvents:
		if err := l.follow(ctx, resp.Body, ch); err != nil {
			return response{}, nil, err
		}
		rest = resp.Body
	default:
		return response{}, nil, fmt.Errorf("server answered HTTP status %d with content type %q instead of JSON", resp.StatusCode, media)
	}
	select {
	case r := <-ch:
		return r.response, rest, r.lost
	default:
		return response{}, rest, errors.New("server answered without a response to the request")
	}
}

// follow reads events until the reply is in ch. Before 2026-07-28 a server may
// end the stream early and have the client come back with the last event's id.
func (l *streamableLink) follow(ctx context.Context, body io.Reader, ch <-chan reply) error {
	lastID := ""
	for {
		events := newEventReader(body, l.limit)
		events.lastID = lastID
		err := l.pump(events, func() bool { return len(ch) > 0 })
		if err == nil {
			return nil
		}
		lastID = events.lastID
		if !errors.Is(err, io.EOF) || lastID == "" || l.modern() {
			return transportError(ctx, err)
		}
		if !wait(ctx, reopenAfter(events.retry)) {
			return context.Cause(ctx)
		}
		resp, err := l.get(ctx, lastID)
		if err != nil {
			return err
		}
		defer resp.Body.Close() // few, and each is at its end already
		body = resp.Body
	}
}

// pump receives messages until enough; an error is why the stream ended.
func (l *streamableLink) pump(events *eventReader, enough func() bool) error {
	for {
		ev, err := events.next()
		if err != nil {
			return err
		}
		if ev.name == "message" {
			l.receive(ev.data)
		}
		if enough() {
			return nil
		}
	}
}

// refused sorts a response with an error status.
func (l *streamableLink) refused(resp *http.Response, session string) (response, error) {
	status, body := statusError(resp)
	var answer response
	err := parseMessages(body, func(env envelope) { answer = env.response() })
	hasError := err == nil && answer.err != nil

	// Servers should answer 404 for a session they do not know; many answer
	// 400 and say so in words.
	if session != "" && (resp.StatusCode == http.StatusNotFound ||
		resp.StatusCode == http.StatusBadRequest && strings.Contains(strings.ToLower(status.body), "session")) {
		l.fail(errSessionGone)
		return response{}, l.lost()
	}
	if hasError {
		return answer, nil
	}
	return response{}, status
}

func (l *streamableLink) notify(ctx context.Context, body []byte) error {
	ctx, end := l.scope(ctx)
	defer end()
	resp, session, err := l.post(ctx, body, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		answer, err := l.refused(resp, session)
		if err == nil {
			err = answer.err
		}
		return err
	}
	return nil
}

func (l *streamableLink) post(ctx context.Context, body []byte, header http.Header) (*http.Response, string, error) {
	header, session := l.header(header, acceptBoth)
	resp, err := l.do(ctx, http.MethodPost, l.url.String(), body, header)
	return resp, session, err
}

// header adds what every request has, and returns the session it names.
func (l *streamableLink) header(header http.Header, accept string) (http.Header, string) {
	if header = header.Clone(); header == nil {
		header = make(http.Header)
	}
	header.Set("Accept", accept)
	l.mu.Lock()
	session := l.session
	l.mu.Unlock()
	if session != "" {
		header.Set(headerSession, session)
	}
	return header, session
}

// get opens a stream of events. Its error is an *httpStatusError when the
// server does not offer one.
func (l *streamableLink) get(ctx context.Context, lastID string) (*http.Response, error) {
	header, _ := l.header(nil, acceptEvents)
	if lastID != "" {
		header.Set("Last-Event-ID", lastID)
	}
	resp, err := l.do(ctx, http.MethodGet, l.url.String(), nil, header)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK || mediaType(resp) != acceptEvents {
		status, _ := statusError(resp)
		resp.Body.Close()
		return nil, status
	}
	return resp, nil
}

// listen keeps the stream open for what the server sends by itself. A server
// need not offer it.
func (l *streamableLink) listen(disturbed func()) {
	l.tasks.run(func() {
		ctx, end := l.scope(context.Background())
		defer end()
		delay := reopenDelay
		for worked := false; ; {
			resp, err := l.get(ctx, "")
			var status *httpStatusError
			if errors.As(err, &status) {
				l.logger.Debug("server offers no stream of its own messages", "reason", err)
				if worked {
					disturbed()
				}
				return
			}
			if err == nil {
				if worked {
					disturbed()
				}
				worked, delay = true, reopenDelay
				events := newEventReader(resp.Body, l.limit)
				err = l.pump(events, func() bool { return false })
				resp.Body.Close()
				delay = max(delay, reopenAfter(events.retry))
			}
			if ctx.Err() != nil {
				return
			}
			l.logger.Debug("the stream of the server's own messages ended", "reason", err)
			disturbed()
			if !wait(ctx, delay) {
				return
			}
			delay = min(2*delay, maxReopenDelay)
		}
	})
}

// close ends the session at the server too, if it can still hear it.
func (l *streamableLink) close() {
	alive := l.ctx.Err() == nil
	l.fail(errClosed)
	if header, session := l.header(nil, acceptBoth); alive && session != "" && !l.modern() {
		ctx, cancel := context.WithTimeout(context.Background(), farewellTime)
		defer cancel()
		if resp, err := l.do(ctx, http.MethodDelete, l.url.String(), nil, header); err == nil {
			resp.Body.Close()
		}
	}
	l.finish()
}

func reopenAfter(asked time.Duration) time.Duration {
	if asked == 0 {
		return reopenDelay
	}
	return min(max(asked, minReopenDelay), maxReopenDelay)
}

// wait returns false if ctx ends first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
