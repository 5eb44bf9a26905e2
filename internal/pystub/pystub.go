// Package pystub writes MCP tools as Python: a one-line signature, and a
// wrapper file with types that an editor or a type checker understands.
//
// It owns the step from JSON Schema to Python types, and the bounds and escapes
// that make hostile schemas harmless. It must not know servers, catalogues or
// runs: what it is given is all it reads, the same input gives the same text,
// and it imports nothing internal.
//
// The text is Python 3.9 and passes mypy --strict. What Python cannot express
// becomes a wider type, never a narrower one: schemas that are broken, remote
// or too large become Any.
package pystub

import (
	"encoding/json"
	"strings"
)

// Tool is a tool as its server declares it.
type Tool struct {
	// Callable is the name of the function in a program,
	// mcp__github__list_issues.
	Callable string
	// Server and Name are the two parts of Callable, each a Python identifier.
	Server, Name string
	// Title and Description are the server's own, and may be empty.
	Title, Description string
	// Input and Output are JSON Schemas; nil where there is none.
	Input, Output json.RawMessage
	// OutputInferred says that Output is not declared by the server: it is
	// the shape of earlier results.
	OutputInferred bool
	// ReadOnly and Destructive are the server's hints; nil where it gives none.
	ReadOnly, Destructive *bool
}

// maxSignature bounds a signature, in bytes: optional parameters that do not
// fit are shown as an ellipsis.
const maxSignature = 2000

// Signature shows on one line how a program calls the tool and what it gets:
//
//	mcp__github__list_issues(*, repo: str, state: Literal['open', 'closed'] = 'open') -> ListIssuesResult
//
// Required parameters come first, both groups in the schema's order. A default
// of ... says that an omitted argument is left to the server. Classes are
// those of Stub.
func Signature(t Tool) string {
	f := newFile(t)
	f.qualified = false
	var b strings.Builder
	b.WriteString(printable(t.Callable, maxNameBytes) + "(")
	tail := ") -> " + f.resultText(nil)
	for i, p := range f.parameters {
		text := p.declaration(f.writer(nil))
		if i == 0 && !p.variadic {
			text = "*, " + text
		}
		if i > 0 {
			text = ", " + text
		}
		if b.Len()+len(text)+len(tail) > maxSignature {
			b.WriteString(", ...")
			break
		}
		b.WriteString(text)
	}
	return b.String() + tail
}
