package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Problem is one thing that is wrong with a configuration file. The error of
// Load joins all of them, in the order of the file; errors.As finds the first.
type Problem struct {
	// File is the path as given to Load.
	File string
	// Line counts from 1; 0 means the file as a whole.
	Line int
	// Key is the path of the key, such as servers[0].url; empty where the
	// problem is not about a key.
	Key string
	// Message says what is wrong and how to mend it.
	Message string

	column int
}

// Error returns "file:line: key: message", without what is not known.
func (p *Problem) Error() string {
	var b strings.Builder
	if p.File != "" || p.Line > 0 {
		b.WriteString(p.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d", p.Line)
		}
		b.WriteString(": ")
	}
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// position is a place in the file, both counted from 1.
type position struct{ line, column int }

// problems collects what is wrong with one file.
type problems struct {
	file string
	list []*Problem
}

func (p *problems) add(at position, key, format string, args ...any) {
	p.list = append(p.list, &Problem{
		File: p.file, Line: at.line, Key: key, Message: fmt.Sprintf(format, args...), column: at.column,
	})
}

// mention reports whether something is known to be wrong with the key itself.
func (p *problems) mention(key string) bool {
	return slices.ContainsFunc(p.list, func(q *Problem) bool { return q.Key == key })
}

// err joins the problems in the order of the file, or is nil when there are
// none.
func (p *problems) err() error {
	slices.SortStableFunc(p.list, func(a, b *Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.column, b.column))
	})
	errs := make([]error, len(p.list))
	for i, problem := range p.list {
		errs[i] = problem
	}
	return errors.Join(errs...)
}

// quote quotes what a user wrote, shortened so that a message stays a line.
func quote(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return strconv.Quote(text)
}
