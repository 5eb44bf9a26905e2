package credentials

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// exchangeTimeout bounds one request to an authorization server.
	exchangeTimeout = 15 * time.Second
	// maxDocument bounds a metadata document or an answer to a registration.
	maxDocument = 256 << 10
)

// newHTTPClient makes the client for metadata and authorization servers.
func newHTTPClient(roots *x509.CertPool) *http.Client {
	return &http.Client{
		Timeout: exchangeTimeout,
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2:   true,
			TLSHandshakeTimeout: 10 * time.Second,
			IdleConnTimeout:     5 * time.Second,
			MaxIdleConns:        4,
		},
		// Nothing that carries a secret goes anywhere but where it was sent.
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			first := via[0]
			if first.Method != http.MethodGet || len(via) > 3 ||
				req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
}

// checkURL refuses addresses that a token or code must not travel to: all but
// https, and http on this machine.
func checkURL(what, address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "":
		return fmt.Errorf("%s is not an https address: %q", what, shown(address))
	case u.Scheme == "https", u.Scheme == "http" && loopback(u.Hostname()):
		return nil
	}
	return fmt.Errorf("%s is not encrypted; http is for this machine only: %q", what, shown(address))
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback() || strings.EqualFold(host, "localhost")
}

// errAbsent means that a server has no such document.
var errAbsent = errors.New("not there")

// getJSON fetches a document. Its error is errAbsent when the server says that
// it has none.
func getJSON(ctx context.Context, client *http.Client, address string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return networkError(err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode >= 400 && resp.StatusCode < 500:
		return errAbsent
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("HTTP status %d", resp.StatusCode)
	}
	return decode(resp, into)
}

func decode(resp *http.Response, into any) error {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media != "application/json" && !strings.HasSuffix(media, "+json") {
		return fmt.Errorf("content type %q instead of JSON: %w", shown(media), errAbsent)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	switch {
	case err != nil:
		return networkError(err)
	case len(data) > maxDocument:
		return fmt.Errorf("the document is larger than %d bytes", maxDocument)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return errors.New("the document is not the JSON that is expected")
	}
	return nil
}

// networkError drops the address, which the caller names.
func networkError(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		if u.Timeout() {
			return errors.New("no answer in time")
		}
		return u.Err
	}
	return err
}
