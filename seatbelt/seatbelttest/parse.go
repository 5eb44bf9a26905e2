// Package seatbelttest reads sandbox profiles for tests: as rules, and as
// decisions about what a program tries.
//
// It knows the part of the profile language that base.sb uses and refuses the
// rest. macOS alone decides in the end; see test/escape.
package seatbelttest

import (
	"fmt"
	"strings"
)

// Node is an atom, a string, or a list.
type Node struct {
	Atom   string // of an atom; of a string its content
	Quoted bool   // it is a string
	List   []Node // of a list; not nil, then

	// Comment is the text of the comment lines right above, or, without a blank
	// line between them, above the form before.
	Comment string
}

// String returns the node on one line.
func (n Node) String() string {
	switch {
	case n.Quoted:
		return `"` + n.Atom + `"`
	case n.List == nil:
		return n.Atom
	}
	parts := make([]string, len(n.List))
	for i, child := range n.List {
		parts[i] = child.String()
	}
	return "(" + strings.Join(parts, " ") + ")"
}

// Is tells whether the node is a list that begins with this atom.
func (n Node) Is(head string) bool {
	return len(n.List) > 0 && n.List[0].List == nil && n.List[0].Atom == head
}

// Parse reads a profile: its forms in order.
func Parse(text string) ([]Node, error) {
	p := &parser{rest: text}
	var forms []Node
	for {
		p.skip()
		if p.rest == "" {
			return forms, nil
		}
		form, err := p.node()
		if err != nil {
			return nil, err
		}
		if form.List == nil {
			return nil, fmt.Errorf("profile: %q stands outside of all rules", form.Atom)
		}
		form.Comment = strings.Join(p.comment, " ")
		forms = append(forms, form)
	}
}

type parser struct {
	rest    string
	comment []string
	said    bool // the comment has been given to a form
}

// skip passes white space and comments, and keeps the comment of what follows.
func (p *parser) skip() {
	for {
		trimmed := strings.TrimLeft(p.rest, " \t\n")
		if strings.Count(p.rest[:len(p.rest)-len(trimmed)], "\n") > 1 {
			p.comment = nil
		}
		p.rest = trimmed
		if !strings.HasPrefix(p.rest, ";") {
			return
		}
		if p.said {
			p.comment, p.said = nil, false
		}
		line, rest, _ := strings.Cut(p.rest, "\n")
		p.comment = append(p.comment, strings.TrimSpace(strings.TrimLeft(line, ";")))
		p.rest = "\n" + rest
		if !strings.HasPrefix(rest, "\n") {
			p.rest = rest
		}
	}
}

func (p *parser) node() (Node, error) {
	p.said = true
	switch {
	case strings.HasPrefix(p.rest, "("):
		return p.list()
	case strings.HasPrefix(p.rest, `"`):
		content, rest, closed := strings.Cut(p.rest[1:], `"`)
		if !closed || strings.ContainsAny(content, "\\\n") {
			return Node{}, fmt.Errorf("profile: string %q is not closed, or has an escape", content)
		}
		p.rest = rest
		return Node{Atom: content, Quoted: true}, nil
	}
	end := strings.IndexAny(p.rest, " \t\n()\";")
	if end < 0 {
		end = len(p.rest)
	}
	if end == 0 || strings.ContainsAny(p.rest[:end], "#'`,") {
		return Node{}, fmt.Errorf("profile: cannot read %.20q", p.rest)
	}
	atom := p.rest[:end]
	p.rest = p.rest[end:]
	return Node{Atom: atom}, nil
}

func (p *parser) list() (Node, error) {
	p.rest = p.rest[1:]
	list := Node{List: []Node{}}
	for {
		p.rest = strings.TrimLeft(p.rest, " \t\n")
		switch {
		case p.rest == "":
			return Node{}, fmt.Errorf("profile: %.40q is not closed", list.String())
		case strings.HasPrefix(p.rest, ")"):
			p.rest = p.rest[1:]
			return list, nil
		case strings.HasPrefix(p.rest, ";"):
			_, p.rest, _ = strings.Cut(p.rest, "\n")
			continue
		}
		child, err := p.node()
		if err != nil {
			return Node{}, err
		}
		list.List = append(list.List, child)
	}
}
