// Package clients reads, and carefully edits, the files in which MCP clients
// keep their servers: Claude Code, Claude Desktop, VS Code, Cursor, Codex,
// Gemini CLI and Windsurf.
//
// It owns each client's places, format, habits and variables, and turns an
// entry into the server that config would load. It starts nothing, writes no
// file, and must not know what becomes of the entries.
package clients

import (
	"fmt"
	"slices"

	"github.com/ptc-mcp/ptc-mcp/internal/config"
)

// Client is one program that keeps a list of MCP servers.
type Client struct {
	// Name is how flags and import lists name it; one of config.Clients.
	Name string
	// Title is how its makers write it.
	Title string

	format format
	// files returns where it keeps servers, those that win over others first.
	files func(Place) []File
	// spell puts a text of the file in config's terms: ${NAME} and
	// ${NAME:-default} for variables, $${ for ${ itself.
	spell speller
	// url is the transport of an entry that has a url and does not say which.
	url config.Transport
}

// format is how a client's file is written.
type format int

const (
	jsonServers format = iota // {"mcpServers": {NAME: {…}}}, comments allowed
	vscodeJSON                // {"servers": {NAME: {…}}, "inputs": […]}
	codexTOML                 // [mcp_servers.NAME]
)

// Scope is whom an entry is meant for.
type Scope string

// The scopes, by the words of Claude Code.
const (
	User    Scope = "user"    // every project of this user
	Local   Scope = "local"   // this user in this project
	Project Scope = "project" // everybody in this project; the file lies in it
)

// File is a place in which a client may keep servers.
type File struct {
	Client *Client
	Scope  Scope
	Path   string
}

// Entry is one server as a client has it configured.
type Entry struct {
	File File
	// Scope is the file's, or Local for what a user's file says of a project.
	Scope Scope
	// Name is the client's name for it, and Line and Column where it begins,
	// both counted from 1.
	Name         string
	Line, Column int

	// Server is the entry in ptc-mcp's terms, its variables not expanded. Its
	// Name may differ from the entry's where another client has the same. It
	// is not complete when Problem is set.
	Server config.Server
	// Problem says why the entry is not used, and what to do about it where
	// something can be done; empty for one that is.
	Problem string
	// Expected is true where the problem is nobody's fault, and there is
	// nothing to mend.
	Expected bool
	// Notes say what is not the same as in the client.
	Notes []string
	// Self marks ptc-mcp's own entry.
	Self bool
	// SameAs is the Server.Name of the entry that this one repeats.
	SameAs string

	project string // the key of a local entry's project in the file
	rank    int    // among entries of the same name, the lowest is the client's own choice
}

// Usable reports whether the entry can be taken over.
func (e *Entry) Usable() bool { return e.Problem == "" }

// Where names the entry for messages: file, line and column.
func (e *Entry) Where() string { return fmt.Sprintf("%s:%d:%d", e.File.Path, e.Line, e.Column) }

// Problem is what is wrong with a file as a whole. Line and Column count from
// 1; 0 is unknown.
type Problem struct {
	Path         string
	Line, Column int
	Message      string
}

// Error returns "file:line:column: message".
func (p *Problem) Error() string {
	switch {
	case p.Line == 0:
		return p.Path + ": " + p.Message
	case p.Column == 0:
		return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.Path, p.Line, p.Column, p.Message)
}

// All returns the clients, in the order in which their entries are listed.
func All() []*Client {
	return []*Client{
		{Name: "claude-code", Title: "Claude Code", files: claudeCodeFiles, spell: claudeVariables, url: config.HTTP},
		{Name: "claude-desktop", Title: "Claude Desktop", files: claudeDesktopFiles, spell: noVariables, url: config.HTTP},
		{Name: "vscode", Title: "VS Code", format: vscodeJSON, files: vscodeFiles, spell: editorVariables, url: config.HTTP},
		{Name: "cursor", Title: "Cursor", files: cursorFiles, spell: editorVariables, url: config.HTTP},
		{Name: "codex", Title: "Codex", format: codexTOML, files: codexFiles, spell: noVariables, url: config.HTTP},
		{Name: "gemini", Title: "Gemini CLI", files: geminiFiles, spell: geminiVariables, url: config.SSE},
		{Name: "windsurf", Title: "Windsurf", files: windsurfFiles, spell: editorVariables, url: config.HTTP},
	}
}

// ByName finds a client; nil when there is none of that name.
func ByName(name string) *Client {
	list := All()
	if i := slices.IndexFunc(list, func(c *Client) bool { return c.Name == name }); i >= 0 {
		return list[i]
	}
	return nil
}
