package mcpserver

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// A client may ask to be told when a resource of the tree changes: up to
// 2025-11-25 by resources/subscribe, from then on in subscriptions/listen. The
// text of each such resource is compared when the catalogue has changed.

// maxWatched bounds the resources that one client is told about.
const maxWatched = 200

// watched are the resources that one client is told about.
type watched struct {
	text func(uri string) string // of now

	mu   sync.Mutex
	uris map[string]*watch
}

type watch struct {
	subscriptions int
	known         string // what the client last knew of, in place of the text
}

var _ server.SessionWithResourceSubscriptionsErr = (*session)(nil)

// SubscribeToResource is what mcp-go calls where nothing can be refused.
func (s *session) SubscribeToResource(uri string) { _ = s.SubscribeToResourceErr(uri) }

// SubscribeToResourceErr refuses what is no resource of the tree, and more than
// maxWatched of them.
func (s *session) SubscribeToResourceErr(uri string) error {
	if uri != treeURI && !strings.HasPrefix(uri, treeURI+"/") {
		return fmt.Errorf("only %s and what is below it can be subscribed to", treeURI)
	}
	known := digest(s.watched.text(uri))
	s.watched.mu.Lock()
	defer s.watched.mu.Unlock()
	w := s.watched.uris[uri]
	if w == nil {
		if len(s.watched.uris) >= maxWatched {
			return fmt.Errorf("at most %d resources can be subscribed to", maxWatched)
		}
		if s.watched.uris == nil {
			s.watched.uris = map[string]*watch{}
		}
		w = &watch{known: known}
		s.watched.uris[uri] = w
	}
	w.subscriptions++
	return nil
}

// UnsubscribeFromResource ends one subscription.
func (s *session) UnsubscribeFromResource(uri string) {
	s.watched.mu.Lock()
	defer s.watched.mu.Unlock()
	w := s.watched.uris[uri]
	if w == nil {
		return
	}
	if w.subscriptions--; w.subscriptions == 0 {
		delete(s.watched.uris, uri)
	}
}

// SubscribedResources lists what is subscribed to.
func (s *session) SubscribedResources() []string {
	s.watched.mu.Lock()
	defer s.watched.mu.Unlock()
	return slices.Sorted(maps.Keys(s.watched.uris))
}

// IsSubscribedToResource reports whether it is.
func (s *session) IsSubscribedToResource(uri string) bool {
	s.watched.mu.Lock()
	defer s.watched.mu.Unlock()
	return s.watched.uris[uri] != nil
}

// updated are the resources whose text is not what the client last knew of.
func (s *session) updated() []string {
	var changed []string
	for _, uri := range s.SubscribedResources() {
		now := digest(s.watched.text(uri))
		s.watched.mu.Lock()
		if w := s.watched.uris[uri]; w != nil && w.known != now {
			w.known = now
			changed = append(changed, uri)
		}
		s.watched.mu.Unlock()
	}
	return changed
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return string(sum[:])
}

// tellUpdated sends the notifications about resources that have changed.
func (c *connection) tellUpdated() {
	const method = change(mcp.MethodNotificationResourceUpdated)
	for _, uri := range c.session.updated() {
		if c.session.ProtocolVersion() != "" {
			c.send(changeNotification{mcp.JSONRPC_VERSION, method, map[string]any{"uri": uri}})
		}
		c.subscriptions.mu.Lock()
		for _, s := range c.subscriptions.open {
			if slices.Contains(s.filter.ResourceSubscriptions, uri) {
				c.send(changeNotification{mcp.JSONRPC_VERSION, method, map[string]any{"uri": uri, "_meta": map[string]any{mcp.MetaKeySubscriptionID: s.id}}})
			}
		}
		c.subscriptions.mu.Unlock()
	}
}
