package downstream

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	headerSession  = "Mcp-Session-Id"
	headerProtocol = "Mcp-Protocol-Version"
	acceptBoth     = "application/json, text/event-stream"
	acceptEvents   = "text/event-stream"

	// maxIdle is how many connections to an HTTP/1.1 server are kept for the
	// next calls. A burst of more calls than that makes new ones each time.
	maxIdle = 128

	// farewellTime bounds the last requests: a cancellation, the end of a
	// session.
	farewellTime = time.Second
	// drainResponse bounds the wait for the end of a response whose answer has
	// come.
	drainResponse = time.Second
	// maxErrorBody is what is read of a response that is an error.
	maxErrorBody = 64 << 10
)

// httpEndpoint is what the two HTTP transports share.
type httpEndpoint struct {
	*peer
	config Config
	url    *url.URL
	client *http.Client
	pool   *http.Transport

	mu      sync.Mutex
	version string
}

func newHTTPEndpoint(config Config, handle handlers) *httpEndpoint {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	pool := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSClientConfig:       &tls.Config{RootCAs: config.RootCAs, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:     true, // one connection for all calls, where the server offers it
		MaxIdleConnsPerHost:   maxIdle,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
	e := &httpEndpoint{peer: newPeer(config, handle), config: config, pool: pool}
	e.client = &http.Client{Transport: pool, CheckRedirect: sameHost}
	return e
}

// sameHost refuses redirects that would carry the credentials elsewhere, or
// unencrypted.
func sameHost(req *http.Request, via []*http.Request) error {
	switch {
	case req.URL.Host != via[0].URL.Host:
		return fmt.Errorf("refused a redirect to another host, %s", req.URL.Host)
	case via[0].URL.Scheme == "https" && req.URL.Scheme != "https":
		return errors.New("refused a redirect from https to http")
	}
	if len(via) >= 10 {
		return errors.New("stopped after 10 redirects")
	}
	return nil
}

func (e *httpEndpoint) parseURL() error {
	u, err := url.Parse(e.config.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("url: want http://host/path or https://host/path") // it may hold a secret
	}
	e.url = u
	return nil
}

func (e *httpEndpoint) setVersion(version string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.version = version
}

func (e *httpEndpoint) negotiated() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.version
}

func (e *httpEndpoint) modern() bool { return mcp.IsModernProtocol(e.negotiated()) }

// do sends one HTTP request, and once more if it is refused and there are better
// credentials. An error is ErrDown when no connection could be made or the
// credentials do not do, else ErrLost or ctx's.
func (e *httpEndpoint) do(ctx context.Context, method, target string, body []byte, header http.Header) (*http.Response, error) {
	credentials := e.config.Credentials
	if credentials == nil {
		return e.once(ctx, method, target, body, header, nil)
	}
	for again := true; ; {
		sent, err := credentials.Header(ctx)
		if err != nil {
			return nil, e.unauthenticated(ctx, err)
		}
		resp, err := e.once(ctx, method, target, body, header, sent)
		if err != nil || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
			return resp, err
		}
		better, err := credentials.Refused(ctx, sent, resp.StatusCode, resp.Header)
		switch {
		case better && again:
			again = false
			_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxErrorBody))
			resp.Body.Close()
		case err == nil:
			return resp, nil
		case resp.StatusCode == http.StatusUnauthorized:
			resp.Body.Close()
			return nil, e.unauthenticated(ctx, err)
		default:
			resp.Body.Close()
			return nil, err
		}
	}
}

// unauthenticated ends the connection: without credentials that the server
// takes, every request fails alike.
func (e *httpEndpoint) unauthenticated(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e.fail(&unauthenticatedError{err})
	return brokenError(ErrDown, err)
}

// once sends one HTTP request. Credentials win over the configured headers,
// which win over all others but those of the protocol's framing.
func (e *httpEndpoint) once(ctx context.Context, method, target string, body []byte, header, credentials http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = header.Clone()
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	if version := e.negotiated(); version != "" {
		req.Header.Set(headerProtocol, version)
	}
	for name, value := range e.config.Headers {
		if strings.EqualFold(name, "Host") {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	maps.Copy(req.Header, credentials)
	resp, err := e.client.Do(req)
	if err != nil {
		return nil, transportError(ctx, err)
	}
	return resp, nil
}

// transportError sorts an error of the network: the caller's context ended,
// nothing was sent, or the connection broke.
func transportError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err // without the URL, which may hold a secret
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return brokenError(ErrDown, err)
	}
	return brokenError(ErrLost, err)
}

// scope derives a context that ends with ctx, and with the cause when the
// connection is lost.
func (e *httpEndpoint) scope(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(e.ctx, func() { cancel(e.lost()) })
	return ctx, func() { stop(); cancel(context.Canceled) }
}

// statusError reads the beginning of an error response.
func statusError(resp *http.Response) (*httpStatusError, []byte) {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "\uFFFD")), " ")
	if runes := []rune(text); len(runes) > 300 {
		text = string(runes[:300]) + "…"
	}
	return &httpStatusError{status: resp.StatusCode, body: text}, body
}

// drain reads the end of a response that has said what was wanted: only then
// can its connection carry another request. A server that goes on talking is
// cut off, which costs the connection.
func drain(rest io.ReadCloser) {
	cut := time.AfterFunc(drainResponse, func() { rest.Close() })
	defer cut.Stop()
	_, _ = io.Copy(io.Discard, io.LimitReader(rest, maxErrorBody))
	rest.Close()
}

func mediaType(resp *http.Response) string {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return media
}

// cancelled tells the server, off the caller's path, that nobody waits for a
// request any more, because ctx has ended.
func (e *httpEndpoint) cancelled(ctx context.Context, call outgoing, send func(context.Context, []byte) error) {
	if call.method == string(mcp.MethodInitialize) || call.method == string(mcp.MethodServerDiscover) {
		return
	}
	text, _ := json.Marshal(ctx.Err().Error())
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":%s}}`, call.id, text)
	e.tasks.run(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewellTime)
		defer cancel()
		if err := send(ctx, body); err != nil {
			e.logger.Debug("could not tell the server of a cancellation", "error", err)
		}
	})
}

func (e *httpEndpoint) finish() {
	e.fail(errClosed)
	e.tasks.close()
	e.pool.CloseIdleConnections()
}
