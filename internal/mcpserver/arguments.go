package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// arguments are the arguments of one tools/call, still undecoded. A client may
// leave them out or send null where a tool needs none.
type arguments map[string]json.RawMessage

// readArguments returns the arguments of a request. Its errors are written for
// the model that made the call.
func readArguments(request mcp.CallToolRequest) (arguments, error) {
	raw := bytes.TrimSpace(request.Params.RawArguments)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	var args arguments
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, fmt.Errorf("%s: arguments must be a JSON object, not %s", request.Params.Name, jsonType(raw))
	}
	return args, nil
}

// text returns a required string argument that is not blank.
func (a arguments) text(tool, name, example string) (string, error) {
	raw, ok := a[name]
	if !ok {
		return "", fmt.Errorf("%s: the argument %q is missing; pass %s", tool, name, example)
	}
	var value *string
	if err := json.Unmarshal(raw, &value); err != nil || value == nil {
		return "", fmt.Errorf("%s: the argument %q must be a string, not %s; pass %s", tool, name, jsonType(raw), example)
	}
	if strings.TrimSpace(*value) == "" {
		return "", fmt.Errorf("%s: the argument %q is empty; pass %s", tool, name, example)
	}
	return *value, nil
}

// optional returns a string argument that may be left out or null; then it is
// fallback.
func (a arguments) optional(tool, name, fallback string) (string, error) {
	raw, ok := a[name]
	if !ok {
		return fallback, nil
	}
	var value *string
	if err := json.Unmarshal(raw, &value); err != nil {
		return "", fmt.Errorf("%s: the argument %q must be a string, not %s", tool, name, jsonType(raw))
	}
	if value == nil || *value == "" {
		return fallback, nil
	}
	return *value, nil
}

// choice returns one of the values, the first when it is left out.
func (a arguments) choice(tool, name string, values ...string) (string, error) {
	value, err := a.optional(tool, name, values[0])
	if err == nil && !slices.Contains(values, value) {
		err = fmt.Errorf("%s: the argument %q must be %s, not %q", tool, name, strings.Join(values, " or "), shorten(value, maxServerNameBytes))
	}
	return value, err
}

// count returns a whole number from 1 to most; most when it is more, and
// fallback when it is left out or null.
func (a arguments) count(tool, name string, fallback, most int) (int, error) {
	raw, ok := a[name]
	if !ok {
		return fallback, nil
	}
	var value *float64
	if err := json.Unmarshal(raw, &value); err != nil {
		return 0, fmt.Errorf("%s: the argument %q must be a number, not %s; pass 1 to %d, or leave it out", tool, name, jsonType(raw), most)
	}
	if value == nil {
		return fallback, nil
	}
	if *value < 1 {
		return 0, fmt.Errorf("%s: the argument %q must be 1 or more, not %v; pass 1 to %d, or leave it out", tool, name, *value, most)
	}
	return int(min(*value, float64(most))), nil
}

// names returns a required argument that is a string or an array of strings,
// and whether it is an array.
func (a arguments) names(tool, name, example string, most int) (names []string, several bool, err error) {
	raw := bytes.TrimSpace(a[name])
	if len(raw) == 0 || raw[0] != '[' {
		one, err := a.text(tool, name, example)
		return []string{one}, false, err
	}
	if err := json.Unmarshal(raw, &names); err != nil {
		return nil, true, fmt.Errorf("%s: the argument %q must be a string or an array of strings; pass %s", tool, name, example)
	}
	switch {
	case len(names) == 0:
		return nil, true, fmt.Errorf("%s: the argument %q is empty; pass %s", tool, name, example)
	case len(names) > most:
		return nil, true, fmt.Errorf("%s: the argument %q holds %d names; pass at most %d at a time", tool, name, len(names), most)
	}
	return names, true, nil
}

// seconds returns an optional number of seconds above zero; 0 when it is left
// out or null.
func (a arguments) seconds(tool, name string) (time.Duration, error) {
	raw, ok := a[name]
	if !ok {
		return 0, nil
	}
	var value *float64
	if err := json.Unmarshal(raw, &value); err != nil {
		return 0, fmt.Errorf("%s: the argument %q must be a number of seconds, not %s; pass for example 30, or leave it out", tool, name, jsonType(raw))
	}
	if value == nil {
		return 0, nil
	}
	if *value <= 0 {
		return 0, fmt.Errorf("%s: the argument %q must be above 0, not %v; pass for example 30, or leave it out", tool, name, *value)
	}
	// A longer time than a duration can hold means no limit of its own.
	if *value >= math.MaxInt64/float64(time.Second) {
		return 0, nil
	}
	return max(time.Duration(*value*float64(time.Second)), 1), nil
}

// jsonType names the type of a JSON value with its article.
func jsonType(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
