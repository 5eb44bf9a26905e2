package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// maxFileBytes bounds a configuration file.
const maxFileBytes = 1 << 20

// Load reads a configuration file, fills in defaults and expands variables
// from the environment. An empty path gives the defaults without any server.
//
// The error joins one *Problem for everything that is wrong, in the order of
// the file. It repeats no value of a server's args, env, url or headers, nor
// any value of a variable.
func Load(path string) (*Config, error) {
	if path == "" {
		return Default(), nil
	}
	data, err := read(path)
	if err != nil {
		return nil, err
	}
	return parse(path, data, os.LookupEnv)
}

func read(path string) ([]byte, error) {
	// Looked at before it is opened: opening a pipe waits for a writer.
	switch info, err := os.Stat(path); {
	case err != nil:
		return nil, fmt.Errorf("configuration: %w", err)
	case info.IsDir():
		return nil, &Problem{File: path, Message: "is a folder; name the file in it, such as " + fileName}
	case !info.Mode().IsRegular():
		return nil, &Problem{File: path, Message: "is not a regular file"}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	if len(data) > maxFileBytes {
		return nil, &Problem{File: path, Message: "is larger than 1 MiB; this is hardly a configuration file of ptc-mcp"}
	}
	return data, nil
}

// parse is Load after the file was read. lookup finds a variable.
func parse(path string, data []byte, lookup func(string) (string, bool)) (*Config, error) {
	found := &problems{file: path}
	root := document(data, found)
	if len(found.list) > 0 {
		return nil, found.err()
	}
	cfg := Default()
	cfg.Path = path
	d := newDecoder(found)
	if root != nil {
		d.value(root, reflect.ValueOf(cfg).Elem(), "")
	}
	if d.overrun {
		return nil, found.err()
	}
	v := &validator{decoder: d}
	expand(cfg, v, lookup)
	v.config(cfg)
	if err := found.err(); err != nil {
		return nil, err
	}
	return cfg, nil
}

// document returns the root of the file's only document, nil when it is empty.
func document(data []byte, found *problems) *yaml.Node {
	if at := unreadable(data); at.line > 0 {
		found.add(at, "", "not a text in UTF-8, or one with control characters; save the file as UTF-8")
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	if err := decoder.Decode(&first); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		syntaxProblem(data, err, found)
		return nil
	}
	if err := decoder.Decode(&second); err == nil {
		found.add(position{line: second.Line}, "", "a second document begins here; keep one, and remove the line ---")
		return nil
	} else if !errors.Is(err, io.EOF) {
		syntaxProblem(data, err, found)
		return nil
	}
	return first.Content[0]
}

// unreadable finds the first character that is no text; the library does not
// say where it is.
func unreadable(data []byte) position {
	for line, text := range bytes.Split(data, []byte("\n")) {
		for i := 0; i < len(text); {
			r, width := utf8.DecodeRune(text[i:])
			if r == utf8.RuneError && width == 1 || unicode.IsControl(r) && !strings.ContainsRune("\t\r\u0085", r) {
				return position{line + 1, i + 1}
			}
			i += width
		}
	}
	return position{}
}

var syntaxError = regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?(.*)`)

func syntaxProblem(data []byte, err error, found *problems) {
	match := syntaxError.FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " "))
	if match == nil {
		found.add(position{line: 1}, "", "not valid YAML: %v", err)
		return
	}
	message := match[2]
	// The library leaves out the number of the first line, and gives that of
	// the line before where its parser, not its scanner, found the fault.
	line, _ := strconv.Atoi(match[1])
	if line == 0 || strings.HasPrefix(message, "did not find expected") {
		line++
	}
	// Its words for a tab do not always say that it is one.
	if strings.Contains(message, "tab") || strings.Contains(message, "cannot start any token") {
		if tab := tabIndent(data); tab.line > 0 {
			found.add(tab, "", "a tab cannot indent YAML; use spaces")
			return
		}
	}
	found.add(position{line: line}, "", "not valid YAML: %s", message)
}

// tabIndent finds the first line that a tab indents.
func tabIndent(data []byte) position {
	for i, line := range bytes.Split(data, []byte("\n")) {
		indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		if tab := bytes.IndexByte(indent, '\t'); tab >= 0 && len(indent) < len(line) {
			return position{i + 1, tab + 1}
		}
	}
	return position{}
}
