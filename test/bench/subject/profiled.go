package subject

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Allocated counts what a process of Go has allocated since its start.
type Allocated struct{ Bytes, Objects uint64 }

// StartProfiled starts ptc-mcp with its profiles served, and returns a function
// that reads its counters of allocations.
func (l Launch) StartProfiled(ctx context.Context, c Config) (*Server, func(context.Context) (Allocated, error), error) {
	log := &urlFinder{found: make(chan string, 1)}
	l.Stderr = log
	c.Flags = append(append([]string{}, c.Flags...), "--pprof", "127.0.0.1:0", "--log-level", "info")
	server, err := l.Start(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	select {
	case url := <-log.found:
		return server, func(ctx context.Context) (Allocated, error) { return allocated(ctx, url) }, nil
	case <-time.After(10 * time.Second):
		return nil, nil, errors.Join(errors.New("the server did not say where its profiles are"), server.Close())
	}
}

var profilesURL = regexp.MustCompile(`http://[0-9.:\[\]]+/debug/pprof/`)

// urlFinder is a log in which the first address of profiles is looked for.
type urlFinder struct {
	found chan string // takes one

	mu   sync.Mutex
	seen []byte
	done bool
}

func (f *urlFinder) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.done {
		f.seen = append(f.seen, p...)
		if url := profilesURL.Find(f.seen); url != nil {
			f.found <- string(url)
			f.done, f.seen = true, nil
		}
	}
	return len(p), nil
}

// allocated reads the memory statistics at the end of a heap profile in text.
func allocated(ctx context.Context, url string) (Allocated, error) {
	var a Allocated
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"allocs?debug=1", nil)
	if err != nil {
		return a, err
	}
	client := http.Client{Timeout: 30 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return a, fmt.Errorf("%s: %s", url, response.Status)
	}
	return parseAllocated(response.Body)
}

func parseAllocated(profile io.Reader) (Allocated, error) {
	var a Allocated
	lines := bufio.NewScanner(profile)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		for key, value := range map[string]*uint64{"# TotalAlloc = ": &a.Bytes, "# Mallocs = ": &a.Objects} {
			rest, found := strings.CutPrefix(lines.Text(), key)
			if !found {
				continue
			}
			n, err := strconv.ParseUint(strings.TrimSpace(rest), 10, 64)
			if err != nil {
				return a, err
			}
			*value = n
		}
	}
	if a.Bytes == 0 || a.Objects == 0 {
		return a, errors.Join(errors.New("no counters of allocations in the profile"), lines.Err())
	}
	return a, lines.Err()
}
