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
	e := newHTTPEndpoint(config, handlers{notified: func(string, json.RawMessage) {}})
	defer e.finish()
	if err := e.parseURL(); err != nil {
		return 0, nil, err
	}
	method, accept, bodies := http.MethodGet, acceptEvents, []string{""}
	if config.Transport == "http" {
		method, accept = http.MethodPost, acceptBoth
		bodies = []string{
			fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"ptc-mcp","version":%q}}}`, config.ClientVersion),
			`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`, // some shake hands with anybody
		}
	}
	for _, body := range bodies {
		resp, err := e.do(ctx, method, e.url.String(), []byte(body), http.Header{"Accept": {accept}})
		if err != nil {
			return 0, nil, rootCause(err)
		}
		resp.Body.Close()
		if status, header = resp.StatusCode, resp.Header; status == http.StatusUnauthorized {
			break
		}
	}
	return status, header, nil
}
