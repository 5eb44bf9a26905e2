package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// tomlString writes a basic string; JSON's escapes are TOML's.
func tomlString(text string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string can always be encoded
	return strings.TrimSpace(b.String())
}

func addTable(f File, data []byte, name, command string, args []string) ([]byte, error) {
	if d, problem := parse(f, data); problem != nil {
		return nil, problem
	} else if d.value("mcp_servers", name) != nil {
		return nil, fmt.Errorf("%s: has a table mcp_servers.%s already", f.Path, name)
	}
	newline := "\n"
	if bytes.Contains(data, []byte("\r\n")) {
		newline = "\r\n"
	}
	key := name
	if !bareKey.MatchString(name) {
		key = tomlString(name)
	}
	var quoted []string
	for _, arg := range args {
		quoted = append(quoted, tomlString(arg))
	}
	var b bytes.Buffer
	if before := bytes.TrimRight(data, " \t\r\n"); len(before) > 0 {
		b.Write(before)
		b.WriteString(newline + newline)
	}
	for _, line := range []string{"[mcp_servers." + key + "]", "command = " + tomlString(command), "args = [" + strings.Join(quoted, ", ") + "]"} {
		b.WriteString(line + newline)
	}
	if _, problem := parse(f, b.Bytes()); problem != nil {
		return nil, fmt.Errorf("%s: cannot be edited (%s); add the server by hand", f.Path, problem.Message)
	}
	return b.Bytes(), nil
}

// disableTable sets enabled = false in a server's table.
func disableTable(e Entry, data []byte) ([]byte, error) {
	if _, problem := parse(e.File, data); problem != nil {
		return nil, problem
	}
	byHand := fmt.Errorf("%s:%d: write enabled = false into the table of %s by hand", e.File.Path, e.Line, e.Name)
	table := []string{"mcp_servers", e.Name}
	header, enabled := -1, -1
	for key := range tomlKeys(data) {
		switch {
		case key.table && slices.Equal(key.path, table):
			header = key.offset
		case !key.table && slices.Equal(key.path, append(slices.Clone(table), "enabled")):
			enabled = key.offset
		}
	}
	if header < 0 {
		return nil, byHand
	}
	at := header
	if enabled >= 0 {
		at = enabled
	}
	end := len(data)
	if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
		end = at + i
	}
	var changed []byte
	if enabled >= 0 {
		line := strings.Replace(string(data[at:end]), "true", "false", 1)
		changed = slices.Concat(data[:at], []byte(line), data[end:])
	} else {
		newline := "\n"
		if end > 0 && data[end-1] == '\r' {
			newline, end = "\r\n", end-1
		}
		changed = slices.Concat(data[:end], []byte(newline+"enabled = false"), data[end:])
	}
	d, problem := parse(e.File, changed)
	if problem != nil || d.value("mcp_servers", e.Name, "enabled") != false {
		return nil, byHand
	}
	return changed, nil
}
