package registry

import (
	"strings"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// program is what a look at a Python program, without parsing it, tells of the
// tools it may call. It decides only what a run waits for, so a wrong guess
// costs time, or an error that names the tool.
type program struct {
	identifiers []string // every identifier, in order
	strings     []string // what stands between quotes, escapes as written
	usesServers bool     // the identifier servers occurs
	// unbound are the functions called by a bare name that the program does
	// not seem to define and Python does not have.
	unbound []string
}

// token is an identifier, or one byte of anything else; whitespace, strings and
// comments leave none.
type token struct {
	identifier string
	mark       byte
}

func readProgram(source string) *program {
	p := &program{}
	tokens := p.tokenize(source)
	at := func(i int) token {
		if i < 0 || i >= len(tokens) {
			return token{}
		}
		return tokens[i]
	}
	// A name that is only ever called is taken for one that comes from
	// elsewhere: what a program defines, imports, assigns or takes as a
	// parameter also occurs in some other place.
	onlyCalled := map[string]bool{}
	starImport := false
	for i, t := range tokens {
		if t.identifier == "" {
			continue
		}
		p.identifiers = append(p.identifiers, t.identifier)
		p.usesServers = p.usesServers || t.identifier == "servers"
		starImport = starImport || t.identifier == "import" && at(i+1).mark == '*'
		before, after := at(i-1), at(i+1)
		if before.mark == '.' {
			continue
		}
		called := after.mark == '(' && before.identifier != "def" && before.identifier != "class"
		if only, seen := onlyCalled[t.identifier]; !seen || only {
			onlyCalled[t.identifier] = called
		}
	}
	for name, only := range onlyCalled {
		if only && !starImport && !pythonNames[name] && !strings.HasPrefix(name, tool.Prefix) {
			p.unbound = append(p.unbound, name)
		}
	}
	for _, s := range p.strings {
		// Whoever reads the tree of wrapper files, rather than one folder of
		// it, means all servers, as one does who lists the tools.
		if path, ok := treePath(s); ok && (path == "" || strings.ContainsAny(path[:1], "{*%")) {
			p.unbound = append(p.unbound, tool.ListCallableTools)
			break
		}
	}
	return p
}

// tokenize splits the source and collects its strings.
func (p *program) tokenize(source string) []token {
	var tokens []token
	for i := 0; i < len(source); {
		start := i
		switch c := source[i]; {
		case c == '#':
			for i < len(source) && source[i] != '\n' {
				i++
			}
		case c == '"' || c == '\'':
			var content string
			content, i = readString(source, i)
			p.strings = append(p.strings, content)
		case isWordByte(c):
			for i < len(source) && isWordByte(source[i]) {
				i++
			}
			if c < '0' || c > '9' {
				tokens = append(tokens, token{identifier: source[start:i]})
			}
		default:
			if i++; c != ' ' && c != '\t' && c != '\n' && c != '\r' {
				tokens = append(tokens, token{mark: c})
			}
		}
	}
	return tokens
}

// isWordByte takes every character outside ASCII for a letter.
func isWordByte(c byte) bool { return isIdentifierByte(c) || c >= 0x80 }

// readString returns what stands between the quotes at source[i], and the index
// after them. A string that is not closed ends with its line, or, in triple
// quotes, with the source.
func readString(source string, i int) (string, int) {
	quote := source[i : i+1]
	triple := strings.HasPrefix(source[i:], strings.Repeat(quote, 3))
	if triple {
		quote = source[i : i+3]
	}
	start := i + len(quote)
	for i = start; i < len(source); i++ {
		switch {
		case source[i] == '\\':
			i++ // in a raw string too, a quote after it does not end the string
		case source[i] == '\n' && !triple:
			return source[start:i], i
		case strings.HasPrefix(source[i:], quote):
			return source[start:i], i + len(quote)
		}
	}
	return source[start:], len(source)
}
