package downstream

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Challenge asks an http or sse server for something without credentials, and
// returns the status and the header of its answer: how it wants to be signed in
// to. It takes at most the connect timeout.
func Challenge(ctx context.Context, config Config) (status int, header http.Header, err error) {
	config = config.withDefaults()
	config.Credentials = nil
	ctx, cancel := context.WithTimeout(ctx, config.ConnectTimeout)
	defer cancel()
	e := newHTTPEndpoint(config, func(string, json.RawMessage) {})
	defer e.finish()
	if err := e.parseURL(); err != nil {
		return 0, nil, err
	}
	method, accept, body := http.MethodGet, acceptEvents, ""
	if config.Transport == "http" {
		method, accept = http.MethodPost, acceptBoth
		body = fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"ptc-mcp","version":%q}}}`, config.ClientVersion)
	}
	resp, err := e.do(ctx, method, e.url.String(), []byte(body), http.Header{"Accept": {accept}})
	if err != nil {
		return 0, nil, rootCause(err)
	}
	resp.Body.Close()
	return resp.StatusCode, resp.Header, nil
}
