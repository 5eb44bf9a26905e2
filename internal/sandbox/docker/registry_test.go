package docker_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// registry serves one tiny image to the engine, over the registry protocol. An
// engine takes plain HTTP from loopback addresses.
type registry struct {
	*httptest.Server
	blobs map[string][]byte
	// open lets the image's layer out.
	open chan struct{}

	mu        sync.Mutex
	manifests int // how often the manifest was asked for by name
}

const manifestType = "application/vnd.docker.distribution.manifest.v2+json"

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// newRegistry has an image under name() that holds one file and no Python.
func newRegistry(t *testing.T) *registry {
	t.Helper()
	var layer bytes.Buffer
	files := tar.NewWriter(&layer)
	// A text of its own each time, so that the engine never has the layer.
	text := t.Name() + t.TempDir()
	err := files.WriteHeader(&tar.Header{Name: "file", Mode: 0o644, Size: int64(len(text))})
	if err == nil {
		_, err = files.Write([]byte(text))
	}
	if err == nil {
		err = files.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Appendf(nil, `{"architecture":"amd64","os":"linux","config":{},"rootfs":{"type":"layers","diff_ids":[%q]}}`, digestOf(layer.Bytes()))
	manifest := fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":%q,
		"config":{"mediaType":"application/vnd.docker.container.image.v1+json","size":%d,"digest":%q},
		"layers":[{"mediaType":"application/vnd.docker.image.rootfs.diff.tar","size":%d,"digest":%q}]}`,
		manifestType, len(config), digestOf(config), layer.Len(), digestOf(layer.Bytes()))
	if !json.Valid(config) || !json.Valid(manifest) {
		t.Fatal("not JSON")
	}
	r := &registry{open: make(chan struct{}), blobs: map[string][]byte{
		digestOf(config): config, digestOf(manifest): manifest, digestOf(layer.Bytes()): layer.Bytes(),
	}}
	layerDigest, manifestDigest := digestOf(layer.Bytes()), digestOf(manifest)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		_, last, _ := strings.Cut(request.URL.Path, "/tiny/")
		kind, reference, _ := strings.Cut(last, "/")
		switch kind {
		case "":
			w.WriteHeader(http.StatusOK) // the greeting, /v2/
			return
		case "manifests":
			if reference == "1" {
				r.mu.Lock()
				r.manifests++
				r.mu.Unlock()
				reference = manifestDigest
			}
			w.Header().Set("Content-Type", manifestType)
			w.Header().Set("Docker-Content-Digest", reference)
		case "blobs":
			if reference == layerDigest {
				<-r.open
			}
		}
		content, known := r.blobs[reference]
		if !known {
			http.NotFound(w, request)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		_, _ = w.Write(content)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *registry) name() string {
	return strings.TrimPrefix(r.URL, "http://") + "/tiny:1"
}

func (r *registry) asked() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.manifests
}
