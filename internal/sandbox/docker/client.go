package docker

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/docker/docker/client"
	"github.com/docker/go-connections/tlsconfig"
)

// open makes a client for an endpoint without connecting to it.
func (e endpoint) open() (*client.Client, error) {
	options := []client.Opt{client.WithAPIVersionNegotiation(), client.WithVersionFromEnv()}
	if strings.HasPrefix(e.host, "ssh://") {
		dial, err := sshDialer(e.host)
		if err != nil {
			return nil, err
		}
		// The name is never resolved: the dialer goes where the URL says.
		options = append(options, client.WithHost("http://docker.invalid"), client.WithDialContext(dial))
		return client.NewClientWithOpts(options...)
	}
	if e.tls != "" || e.insecure {
		config, err := e.tlsConfig()
		if err != nil {
			return nil, err
		}
		options = append(options, client.WithHTTPClient(&http.Client{
			Transport:     &http.Transport{TLSClientConfig: config},
			CheckRedirect: client.CheckRedirect,
		}))
	}
	return client.NewClientWithOpts(append(options, client.WithHost(e.host))...)
}

// tlsConfig takes each file of the folder that exists: a server may ask for no
// client certificate, and its own may be signed by a public authority.
func (e endpoint) tlsConfig() (*tls.Config, error) {
	options := tlsconfig.Options{InsecureSkipVerify: e.insecure, ExclusiveRootPools: true}
	for name, field := range map[string]*string{"ca.pem": &options.CAFile, "cert.pem": &options.CertFile, "key.pem": &options.KeyFile} {
		path := filepath.Join(e.tls, name)
		if _, err := os.Stat(path); err == nil {
			*field = path
		}
	}
	config, err := tlsconfig.Client(options)
	if err != nil {
		return nil, fmt.Errorf("docker: TLS material in %s: %w", e.tls, err)
	}
	return config, nil
}

// isLost tells whether an error means that the engine cannot be reached,
// rather than that it refused something.
func isLost(err error) bool {
	var network *net.OpError
	return client.IsErrConnectionFailed(err) ||
		errors.As(err, &network) ||
		errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNREFUSED) ||
		errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, net.ErrClosed)
}
