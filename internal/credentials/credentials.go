// Package credentials owns what says to a remote server who we are: OAuth
// tokens, how they are obtained, kept and renewed, and headers that a command
// prints.
//
// It knows HTTP and OAuth, and nothing of MCP, sessions or the terminal: whoever
// makes a request asks it for headers, and tells it of a refusal. No token,
// secret or header that it holds appears in an error or a log.
package credentials

import (
	"strconv"
	"strings"
	"unicode"
)

// SignInError means that nothing but a new sign-in by the user helps.
type SignInError struct {
	// Server is the server's configured name.
	Server string
	// Reason says what has become of the old one, in a few words.
	Reason string
}

// Error says what to do and why.
func (e *SignInError) Error() string {
	return "sign in with: " + LoginCommand(e.Server) + " (" + e.Reason + ")"
}

// LoginCommand is what a user types to sign in to a server.
func LoginCommand(server string) string {
	if strings.ContainsFunc(server, func(r rune) bool {
		return r != '-' && r != '_' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		server = strconv.Quote(server)
	}
	return "ptc-mcp login " + server
}

// maxShown bounds what is repeated of a text that another party sent, in
// characters.
const maxShown = 200

// shown makes a text of another party fit to be shown: one line, printable,
// bounded.
func shown(text string) string {
	runes := []rune(strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " "))
	if len(runes) > maxShown {
		return string(runes[:maxShown]) + "…"
	}
	return string(runes)
}
