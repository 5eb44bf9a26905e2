package mcpserver

import (
	"encoding/json"
	"log/slog"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// What changes is told to the clients as their protocol has it: up to
// 2025-11-25 to each that is initialized, from 2026-07-28 on to those requests
// of subscriptions/listen that asked for it. mcp-go's own broadcasts know
// nothing of this server's connections.

// change is a kind of list that a client can be told about.
type change string

const (
	toolsChanged     change = mcp.MethodNotificationToolsListChanged
	resourcesChanged change = mcp.MethodNotificationResourcesListChanged
	promptsChanged   change = mcp.MethodNotificationPromptsListChanged
)

// subscriptions are the open requests of subscriptions/listen of one client.
type subscriptions struct {
	opening sync.Mutex // held from the request to its acknowledgement

	mu   sync.Mutex
	open map[string]subscription // by the request's key
}

type subscription struct {
	id     json.RawMessage
	filter mcp.SubscriptionFilter
}

func (s subscription) wants(c change) bool {
	switch c {
	case toolsChanged:
		return s.filter.ToolsListChanged
	case resourcesChanged:
		return s.filter.ResourcesListChanged
	case promptsChanged:
		return s.filter.PromptsListChanged
	}
	return false
}

// listen answers a request of subscriptions/listen by answer, which lasts as
// long as the subscription. mcp-go queues the acknowledgement before that; it
// is sent at once, and what changes from then on is told.
func (c *connection) listen(key string, id json.RawMessage, answer func()) {
	c.subscriptions.opening.Lock()
	over, sent := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sent)
		defer c.subscriptions.opening.Unlock()
		select {
		case n := <-c.session.notifications:
			filter, _ := n.Params.AdditionalFields["notifications"].(mcp.SubscriptionFilter)
			c.subscriptions.add(key, subscription{id, filter})
			c.send(n)
		case <-over:
		}
	}()
	answer()
	close(over)
	<-sent
	c.subscriptions.remove(key)
}

func (s *subscriptions) add(key string, sub subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = make(map[string]subscription)
	}
	s.open[key] = sub
}

func (s *subscriptions) remove(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, key)
}

// tell sends the notification of a change to the client, if it is to know.
func (c *connection) tell(what change) {
	if c.session.ProtocolVersion() != "" && c.session.Initialized() {
		c.send(changeNotification{mcp.JSONRPC_VERSION, what, nil})
	}
	c.subscriptions.mu.Lock()
	defer c.subscriptions.mu.Unlock()
	for _, s := range c.subscriptions.open {
		if s.wants(what) {
			c.send(changeNotification{mcp.JSONRPC_VERSION, what, map[string]any{"_meta": map[string]any{mcp.MetaKeySubscriptionID: s.id}}})
		}
	}
}

type changeNotification struct {
	JSONRPC string         `json:"jsonrpc"`
	Method  change         `json:"method"`
	Params  map[string]any `json:"params,omitempty"`
}

// send writes a notification.
func (c *connection) send(notification any) {
	line, err := marshal(notification)
	if err != nil {
		c.server.logger.Error("notification cannot be encoded", slog.Any("error", err))
		return
	}
	c.out.write(line)
}

// clients are the connections at present.
type clients struct {
	mu   sync.Mutex
	open map[*connection]bool
}

func (s *clients) add(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = make(map[*connection]bool)
	}
	s.open[c] = true
}

func (s *clients) remove(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
}

// tell tells every client of changes, and of the resources it watches.
func (s *clients) tell(changes []change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		for _, what := range changes {
			c.tell(what)
		}
		c.tellUpdated()
	}
}
