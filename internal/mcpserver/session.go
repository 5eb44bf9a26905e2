package mcpserver

import (
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// session is the one client of a stdio connection, as mcp-go wants to see it.
type session struct {
	notifications chan mcp.JSONRPCNotification
	initialized   atomic.Bool
	watched       watched

	mu           sync.Mutex
	client       mcp.Implementation
	capabilities mcp.ClientCapabilities
	version      string
}

var (
	_ server.SessionWithClientInfo      = (*session)(nil)
	_ server.SessionWithProtocolVersion = (*session)(nil)
)

func newSession(text func(uri string) string) *session {
	// The only notification that mcp-go itself sends here acknowledges a
	// subscriptions/listen, just before that is answered; so few ever wait.
	return &session{notifications: make(chan mcp.JSONRPCNotification, 256), watched: watched{text: text}}
}

func (s *session) SessionID() string { return "stdio" }
func (s *session) Initialize()       { s.initialized.Store(true) }
func (s *session) Initialized() bool { return s.initialized.Load() }

func (s *session) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.notifications }

func (s *session) GetClientInfo() mcp.Implementation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

func (s *session) SetClientInfo(client mcp.Implementation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = client
}

func (s *session) GetClientCapabilities() mcp.ClientCapabilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.capabilities
}

func (s *session) SetClientCapabilities(capabilities mcp.ClientCapabilities) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.capabilities = capabilities
}

// ProtocolVersion is the version that initialize agreed on.
func (s *session) ProtocolVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// SetProtocolVersion is called by mcp-go when it answers initialize.
func (s *session) SetProtocolVersion(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = version
}
