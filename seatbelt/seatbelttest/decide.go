package seatbelttest

import (
	"fmt"
	"path"
	"strings"
)

// Rule allows or denies operations where one of its filters holds, or always
// when it has none.
type Rule struct {
	Action     string // "allow" or "deny"
	Operations []string
	Filters    []Node
	Comment    string
}

// String returns the rule on one line.
func (r Rule) String() string {
	parts := append([]string{r.Action}, r.Operations...)
	for _, filter := range r.Filters {
		parts = append(parts, filter.String())
	}
	return "(" + strings.Join(parts, " ") + ")"
}

// Profile is a profile with the values of its parameters.
type Profile struct {
	Rules   []Rule
	Imports []string
	Params  map[string]string
}

// Read parses a profile and its definitions, NAME=path each. It is an error when
// a parameter has no definition or a definition no parameter, when the profile
// does not begin by denying everything, and when it has a form that this package
// does not know.
func Read(text string, definitions []string) (*Profile, error) {
	forms, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if len(forms) < 2 || forms[0].String() != "(version 1)" || forms[1].String() != "(deny default)" {
		return nil, fmt.Errorf("profile: does not begin with (version 1) (deny default)")
	}
	p := &Profile{Params: map[string]string{}}
	for _, definition := range definitions {
		name, value, ok := strings.Cut(definition, "=")
		if _, again := p.Params[name]; !ok || again {
			return nil, fmt.Errorf("profile: definition %q is wrong, or repeated", definition)
		}
		p.Params[name] = value
	}
	used := map[string]bool{}
	for _, form := range forms {
		params(form, used)
	}
	for name := range used {
		if _, ok := p.Params[name]; !ok {
			return nil, fmt.Errorf("profile: parameter %s is not defined", name)
		}
	}
	for name := range p.Params {
		if !used[name] {
			return nil, fmt.Errorf("profile: definition %s is not used", name)
		}
	}
	for _, form := range forms[1:] {
		switch {
		case form.Is("import") && len(form.List) == 2 && form.List[1].Quoted:
			p.Imports = append(p.Imports, form.List[1].Atom)
		case form.Is("allow"), form.Is("deny"):
			rule := Rule{Action: form.List[0].Atom, Comment: form.Comment}
			for _, part := range form.List[1:] {
				switch {
				case part.List != nil:
					rule.Filters = append(rule.Filters, part)
				case part.Quoted || len(rule.Filters) > 0:
					return nil, fmt.Errorf("profile: cannot read %s", form)
				default:
					rule.Operations = append(rule.Operations, part.Atom)
				}
			}
			p.Rules = append(p.Rules, rule)
		default:
			return nil, fmt.Errorf("profile: unknown form %s", form)
		}
	}
	return p, nil
}

// params notes the parameters that a node uses.
func params(n Node, used map[string]bool) {
	if n.Is("param") && len(n.List) == 2 {
		used[n.List[1].Atom] = true
	}
	for _, child := range n.List {
		params(child, used)
	}
}

// Attempt is something a program tries.
type Attempt struct {
	Operation string // "file-read-data"
	Path      string // of a file operation, all links resolved
	Type      string // of the file, "REGULAR-FILE" if empty
	Name      string // of a sysctl, or the domain of a socket
	Other     bool   // it is directed at another process
}

// Allows decides about an attempt by the profile's own rules: the last that
// matches counts. What imports bring is not looked at.
func (p *Profile) Allows(a Attempt) (bool, error) {
	allowed := false
	for _, rule := range p.Rules {
		if !matchesOperation(rule.Operations, a.Operation) {
			continue
		}
		holds := len(rule.Filters) == 0
		for _, filter := range rule.Filters {
			one, err := p.holds(filter, a)
			if err != nil {
				return false, err
			}
			holds = holds || one
		}
		if holds {
			allowed = rule.Action == "allow"
		}
	}
	return allowed, nil
}

func matchesOperation(patterns []string, operation string) bool {
	for _, pattern := range patterns {
		prefix, wild := strings.CutSuffix(pattern, "*")
		if pattern == "default" || pattern == operation || wild && strings.HasPrefix(operation, prefix) {
			return true
		}
	}
	return false
}

// holds decides about one filter.
func (p *Profile) holds(filter Node, a Attempt) (bool, error) {
	if len(filter.List) < 2 {
		return false, fmt.Errorf("profile: unknown filter %s", filter)
	}
	head, rest := filter.List[0].Atom, filter.List[1:]
	switch head {
	case "require-all", "require-any":
		result := head == "require-all"
		for _, part := range rest {
			one, err := p.holds(part, a)
			if err != nil {
				return false, err
			}
			if head == "require-all" {
				result = result && one
			} else {
				result = result || one
			}
		}
		return result, nil
	}
	if len(rest) != 1 {
		return false, fmt.Errorf("profile: unknown filter %s", filter)
	}
	value := rest[0].Atom
	if rest[0].Is("param") {
		value = p.Params[rest[0].List[1].Atom]
	}
	switch head {
	case "literal":
		return a.Path == value, nil
	case "subpath":
		return a.Path == value || strings.HasPrefix(a.Path, path.Clean(value)+"/"), nil
	case "vnode-type":
		return a.Type == value || a.Type == "" && value == "REGULAR-FILE", nil
	case "sysctl-name", "socket-domain":
		return a.Name == value, nil
	case "sysctl-name-prefix":
		return strings.HasPrefix(a.Name, value), nil
	case "target":
		return value == "self" && !a.Other, nil
	}
	return false, fmt.Errorf("profile: unknown filter %s", filter)
}
