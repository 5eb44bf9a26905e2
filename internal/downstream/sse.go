package downstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// sseLink is the HTTP transport of protocol 2024-11-05: one stream of events
// carries everything the server sends; requests are posted to the address that
// its first event names.
type sseLink struct {
	*httpEndpoint
	endpoint chan string // gets the address once
	target   string
}

func newSSELink(config Config, handle handlers) *sseLink {
	l := &sseLink{httpEndpoint: newHTTPEndpoint(config, handle), endpoint: make(chan string, 1)}
	l.send = l.notify
	return l
}

func (l *sseLink) open(ctx context.Context) error {
	if err := l.parseURL(); err != nil {
		return err
	}
	// The stream outlives ctx, which bounds only the opening.
	stream, end := l.scope(context.Background())
	stop := context.AfterFunc(ctx, end)
	resp, err := l.do(stream, http.MethodGet, l.url.String(), nil, http.Header{"Accept": {acceptEvents}}) //nolint:contextcheck // outlives ctx
	if err == nil && (resp.StatusCode != http.StatusOK || mediaType(resp) != acceptEvents) {
		err, _ = statusError(resp)
		resp.Body.Close()
	}
	if err != nil {
		stop()
		end()
		return err
	}
	l.tasks.run(func() {
		defer end()
		defer resp.Body.Close()
		l.read(resp.Body)
	})
	defer stop()
	select {
	case l.target = <-l.endpoint:
		return nil
	case <-l.ctx.Done():
		return l.lost()
	case <-ctx.Done():
		return fmt.Errorf("waiting for the endpoint event: %w", ctx.Err())
	}
}

func (l *sseLink) read(body io.Reader) {
	events := newEventReader(body, l.limit)
	for {
		ev, err := events.next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("server closed the stream")
			}
			l.fail(err)
			return
		}
		switch ev.name {
		case "message":
			l.receive(ev.data)
		case "endpoint":
			l.setEndpoint(ev.data)
		}
	}
}

// setEndpoint takes the first address, if it is on the same host: the
// configured headers go there.
func (l *sseLink) setEndpoint(m *message) {
	if m.tooLarge() {
		return
	}
	target, err := l.url.Parse(string(m.bytes()))
	if err != nil || target.Host != l.url.Host || target.Scheme != l.url.Scheme {
		l.fail(fmt.Errorf("server named an endpoint on another host: %s", beginning(m.bytes())))
		return
	}
	select {
	case l.endpoint <- target.String():
	default: // sent again
	}
}

func (l *sseLink) request(ctx context.Context, call outgoing) (response, error) {
	ch, err := l.expect(call.id)
	if err != nil {
		return response{}, err
	}
	defer l.forget(call.id)
	// Some servers answer on the stream before they answer the POST, and some
	// hold the POST until then.
	posting, end := l.scope(ctx)
	defer end()
	posted := make(chan error, 1)
	l.tasks.run(func() { posted <- l.post(posting, call.body, call.header) })
	for {
		select {
		case r := <-ch:
			if l.ctx.Err() != nil && posted != nil { // which ends the POST, too
				if err := <-posted; errors.Is(err, ErrDown) {
					return response{}, err // it was this request that was refused
				}
			}
			return r.response, r.lost
		case err := <-posted:
			if err != nil && ctx.Err() == nil {
				return response{}, err
			}
			posted = nil
		case <-ctx.Done():
			l.cancelled(ctx, call, l.notify)
			return response{}, ctx.Err()
		}
	}
}

func (l *sseLink) notify(ctx context.Context, body []byte) error {
	ctx, end := l.scope(ctx)
	defer end()
	return l.post(ctx, body, nil)
}

func (l *sseLink) post(ctx context.Context, body []byte, header http.Header) error {
	if header = header.Clone(); header == nil {
		header = make(http.Header)
	}
	resp, err := l.do(ctx, http.MethodPost, l.target, body, header)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		status, _ := statusError(resp)
		return status
	}
	// Read to the end, so that the connection can be used again.
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxErrorBody))
	return nil
}

func (l *sseLink) listen(func()) {}

func (l *sseLink) close() { l.finish() }
