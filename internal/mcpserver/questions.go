package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// Servers may ask the user something while they work on a call. The question is
// put to the client in whose request the call was made, with the server's name
// before it: as a request of this server up to 2025-11-25, and from 2026-07-28
// on as a result that the client answers by making its request again
// (exchange.go).

// Bounds of what is passed on of a question, in bytes.
const (
	maxQuestionBytes = 64 << 10
	maxMessageBytes  = 4 << 10
)

// answerable are the modes of elicitation that a client has declared.
type answerable struct{ form, url bool }

// answerableBy reads a client's capability. One without modes is of a protocol
// that knew forms only.
func answerableBy(c *mcp.ElicitationCapability) answerable {
	if c == nil {
		return answerable{}
	}
	return answerable{form: c.Form != nil || c.URL == nil, url: c.URL != nil}
}

// question returns the parameters for the client: those of the server, with its
// name in the message.
func (a answerable) question(q tool.Question) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if len(q.Params) > maxQuestionBytes {
		return nil, fmt.Errorf("server %q asks a question of %d bytes, at most %d are passed on", q.Server, len(q.Params), maxQuestionBytes)
	}
	var mode, message, page string
	readable := json.Unmarshal(q.Params, &members) == nil && members != nil
	// One by one: decoding into a struct would take "URL" for "url".
	for key, value := range map[string]*string{"mode": &mode, "message": &message, "url": &page} {
		readable = readable && (members[key] == nil || json.Unmarshal(members[key], value) == nil)
	}
	if !readable {
		return nil, fmt.Errorf("server %q asks a question that cannot be read", q.Server)
	}
	switch mode {
	case "", mcp.ElicitationModeForm:
		if !a.form {
			return nil, fmt.Errorf("server %q: %w", q.Server, tool.ErrNobodyToAsk)
		}
	case mcp.ElicitationModeURL:
		if !a.url {
			return nil, fmt.Errorf("server %q wants a page opened: %w", q.Server, tool.ErrNobodyToAsk)
		}
		if u, err := url.Parse(page); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return nil, fmt.Errorf("server %q wants something opened that is no web page", q.Server)
		}
	default:
		return nil, fmt.Errorf("server %q asks in an unknown mode", q.Server)
	}
	delete(members, "_meta") // names requests of another connection
	var err error
	if members["message"], err = marshal(fmt.Sprintf("Server %q asks: %s", shorten(q.Server, maxServerNameBytes), plain(message))); err != nil {
		return nil, err
	}
	return marshal(members)
}

// plain is a text without what could hide a part of it or reorder it.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r) {
			return r
		}
		return -1
	}, text)
	return shorten(text, maxMessageBytes)
}

// questions are the requests of this server that a client has not answered.
type questions struct {
	mu   sync.Mutex
	last int
	open map[string]chan json.RawMessage // the whole responses
}

// ask sends the client a request and waits for its result.
func (c *connection) ask(ctx context.Context, q tool.Question) (json.RawMessage, error) {
	params, err := answerableBy(c.session.GetClientCapabilities().Elicitation).question(q)
	if err != nil {
		return nil, err
	}
	answer := make(chan json.RawMessage, 1)
	c.questions.mu.Lock()
	if c.questions.open == nil {
		c.questions.open = make(map[string]chan json.RawMessage)
	}
	c.questions.last++
	id, _ := json.Marshal("ask-" + strconv.Itoa(c.questions.last))
	key, _ := idKey(id)
	c.questions.open[key] = answer
	c.questions.mu.Unlock()
	defer func() {
		c.questions.mu.Lock()
		defer c.questions.mu.Unlock()
		delete(c.questions.open, key)
	}()
	c.send(serverRequest{mcp.JSONRPC_VERSION, id, string(mcp.MethodElicitationCreate), params})
	select {
	case response := <-answer:
		return readAnswer(response)
	case <-ctx.Done():
		c.send(relayedNotification{mcp.JSONRPC_VERSION, string(mcp.MethodNotificationCancelled), map[string]json.RawMessage{"requestId": id}})
		return nil, ctx.Err()
	}
}

type serverRequest struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// answered takes a response of the client.
func (c *connection) answered(id json.RawMessage, line []byte) {
	key, ok := idKey(id)
	if !ok {
		return
	}
	c.questions.mu.Lock()
	answer := c.questions.open[key]
	delete(c.questions.open, key)
	c.questions.mu.Unlock()
	if answer != nil {
		answer <- bytes.Clone(line)
	}
}

// readAnswer returns the result in a response.
func readAnswer(response json.RawMessage) (json.RawMessage, error) {
	var r struct {
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(response, &r); err != nil {
		return nil, fmt.Errorf("the client's answer cannot be read: %w", err)
	}
	if r.Error != nil {
		return nil, fmt.Errorf("the client answered with an error: %s", shorten(r.Error.Message, maxServerReasonBytes))
	}
	return checkAnswer(r.Result)
}

// checkAnswer returns an ElicitResult, if it is one.
func checkAnswer(result json.RawMessage) (json.RawMessage, error) {
	var r struct {
		Action string `json:"action"`
	}
	if err := json.Unmarshal(result, &r); err != nil || r.Action != "accept" && r.Action != "decline" && r.Action != "cancel" {
		return nil, errors.New("the client's answer says neither accept nor decline nor cancel")
	}
	return result, nil
}
