package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// lineWriter writes messages as lines. Replies to requests that arrived
// together leave together.
type lineWriter struct {
	mu sync.Mutex
	w  *bufio.Writer
}

// write writes a message, and with flush sends all there is. Errors are not
// reported: a client that is gone is seen at the end of the input.
func (l *lineWriter) write(message []byte, flush bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if message != nil {
		_, _ = l.w.Write(message)
		_ = l.w.WriteByte('\n')
	}
	if flush {
		_ = l.w.Flush()
	}
}

// inFlight has the requests that take time, by their ids.
type inFlight struct {
	mu      sync.Mutex
	cancels map[string]context.CancelFunc
}

func (f *inFlight) begin(ctx context.Context, id json.RawMessage) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cancels == nil {
		f.cancels = map[string]context.CancelFunc{}
	}
	f.cancels[string(id)] = cancel
	return ctx, func() {
		cancel()
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.cancels, string(id))
	}
}

// cancelled handles notifications/cancelled.
func (f *inFlight) cancelled(r *request) {
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(r.Params, &params) != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if cancel := f.cancels[string(params.RequestID)]; cancel != nil {
		cancel()
	}
}

// serveStdio answers one client until the end of its input, then ends what is
// still under way.
func serveStdio(s *server, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(context.Background())
	var background sync.WaitGroup
	defer background.Wait()
	defer stop()

	output := &lineWriter{w: bufio.NewWriterSize(out, 64<<10)}
	send := func(message []byte) { output.write(message, true) }
	c := client{send: send, flush: func() { output.write(nil, true) }}
	var flying inFlight
	input := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := input.ReadBytes('\n')
		if len(line) > 1 {
			var r request
			switch badJSON := json.Unmarshal(line, &r); {
			case badJSON != nil:
				output.write(errorReply(nil, errorf(codeParse, "parse: %v", badJSON)), false)
			case r.Method == "notifications/cancelled":
				flying.cancelled(&r)
			case r.Method == "notifications/initialized":
				s.listen(&listener{send: send})
			case s.takesTime(&r):
				callCtx, done := flying.begin(ctx, r.ID)
				background.Go(func() {
					defer done()
					output.write(s.answer(callCtx, c, &r), true)
				})
			default:
				output.write(s.answer(ctx, c, &r), false)
			}
		}
		if input.Buffered() == 0 || err != nil {
			output.write(nil, true)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("stdio: %w", err)
		}
	}
}
