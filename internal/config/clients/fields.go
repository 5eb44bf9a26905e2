package clients

import (
	"fmt"
	"slices"
	"strconv"
)

// fields reads the members of one entry. It keeps the first complaint, and
// which members were asked for.
type fields struct {
	values map[string]any
	asked  map[string]bool
	fault  string
}

func (f *fields) get(key string) (any, bool) {
	f.asked[key] = true
	value, ok := f.values[key]
	return value, ok && value != nil
}

func (f *fields) complain(key, wants string) {
	if f.fault == "" {
		f.fault = fmt.Sprintf("%s: wants %s; mend the entry", key, wants)
	}
}

func (f *fields) text(key string) string {
	value, ok := f.get(key)
	if !ok {
		return ""
	}
	text, ok := value.(string)
	if !ok {
		f.complain(key, "a string")
	}
	return text
}

func (f *fields) flag(key string) (value, given bool) {
	v, given := f.get(key)
	if !given {
		return false, false
	}
	b, ok := v.(bool)
	if !ok {
		f.complain(key, "true or false")
	}
	return b, ok
}

func (f *fields) number(key string) float64 {
	switch value, _ := f.get(key); n := value.(type) {
	case nil:
	case float64:
		return n
	case int64:
		return float64(n)
	default:
		f.complain(key, "a number")
	}
	return 0
}

func (f *fields) list(key string) []string {
	value, ok := f.get(key)
	if !ok {
		return nil
	}
	items, ok := value.([]any)
	if !ok {
		f.complain(key, "a list of strings")
		return nil
	}
	list := make([]string, 0, len(items))
	for _, item := range items {
		text, ok := scalar(item)
		if !ok {
			f.complain(key, "a list of strings")
		}
		list = append(list, text)
	}
	return list
}

func (f *fields) texts(key string) map[string]string {
	value, ok := f.get(key)
	if !ok {
		return nil
	}
	object, ok := value.(map[string]any)
	if !ok {
		f.complain(key, "an object of strings")
		return nil
	}
	texts := make(map[string]string, len(object))
	for name, item := range object {
		text, ok := scalar(item)
		if !ok {
			f.complain(key+"."+name, "a string")
		}
		texts[name] = text
	}
	return texts
}

// scalar takes numbers and truth values for the text they are written as, as
// the clients do for arguments and variables.
func scalar(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}

// meaningless are members that change nothing about the server itself.
func meaningless(key string) bool {
	switch key {
	case "$schema", "description", "displayName", "icon", "gallery", "version", "dev", "trust", "alwaysAllow", "autoApprove":
		return true
	}
	return false
}

// rest are the members nobody asked for that may mean something, sorted.
func (f *fields) rest() []string {
	var rest []string
	for key := range f.values {
		if !f.asked[key] && !meaningless(key) {
			rest = append(rest, key)
		}
	}
	slices.Sort(rest)
	return rest
}
