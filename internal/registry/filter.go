package registry

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// filter decides which tools are callable.
type filter struct {
	patterns []string
	block    bool // the patterns name what is not callable
}

func newFilter(allow, block []string) (filter, error) {
	if len(allow) > 0 && len(block) > 0 {
		return filter{}, errors.New("tools: allow and block exclude each other; keep one of them")
	}
	f := filter{patterns: allow}
	if len(block) > 0 {
		f = filter{patterns: block, block: true}
	}
	for _, p := range f.patterns {
		if p == "" {
			return filter{}, fmt.Errorf("tools: %s: empty pattern; write a callable name such as mcp__github__*", f.key())
		}
	}
	return f, nil
}

// key is the configuration key the patterns come from.
func (f filter) key() string {
	if f.block {
		return "block"
	}
	return "allow"
}

// callable decides for a tool, given its callable name and the same name in
// its original spelling, and marks the patterns that match either.
func (f filter) callable(name, original string, matched []bool) bool {
	if len(f.patterns) == 0 {
		return true
	}
	hit := false
	for i, p := range f.patterns {
		if matches(p, name, original) {
			hit = true
			matched[i] = true
		}
	}
	return hit != f.block
}

// matches reports whether a pattern matches the callable name or the same name
// in its original spelling.
func matches(pattern, name, original string) bool {
	return glob(pattern, name) || original != name && glob(pattern, original)
}

// matchesAny reports whether one of the patterns does.
func matchesAny(patterns []string, name, original string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name, original) })
}

// glob matches s as a whole: * is any run of characters, ? is any one.
func glob(pattern, s string) bool {
	p, i := 0, 0
	star, mark := -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p++
			i++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// literalStart is the part of a pattern before its first wildcard.
func literalStart(pattern string) string {
	if i := strings.IndexAny(pattern, "*?"); i >= 0 {
		return pattern[:i]
	}
	return pattern
}
