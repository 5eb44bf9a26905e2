package config

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Resolve returns a server as Load would have it from an entry of the file:
// checked, and with its variables expanded by lookup. The error joins one
// *Problem for each thing that is wrong; its Key is the key in the entry.
func Resolve(server Server, lookup func(name string) (string, bool)) (Server, error) {
	data, err := encode(mapping("servers", sequence(serverNode(server))))
	if err != nil {
		return Server{}, err
	}
	cfg, err := parse("", data, lookup)
	if err == nil {
		return cfg.Servers[0], nil
	}
	joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !ok {
		return Server{}, err
	}
	errs := joined.Unwrap()
	for _, err := range errs {
		if problem, ok := errors.AsType[*Problem](err); ok {
			problem.Line = 0
			problem.Key = strings.TrimPrefix(strings.TrimPrefix(problem.Key, "servers[0]"), ".")
		}
	}
	return Server{}, errors.Join(errs...)
}

// Unset lists the variables without a default that the server refers to and
// that lookup does not know, sorted.
func Unset(server Server, lookup func(name string) (string, bool)) []string {
	var unset []string
	note := func(name string) (string, bool) {
		if value, ok := lookup(name); ok {
			return value, true
		}
		unset = append(unset, name)
		return "", true
	}
	texts := slices.Concat([]string{server.Command, server.Cwd, server.URL, server.Auth.ClientID, server.Auth.ClientSecret}, server.Args, server.HeadersCommand)
	for _, values := range []map[string]string{server.Env, server.Headers} {
		for _, text := range values {
			texts = append(texts, text)
		}
	}
	for _, text := range texts {
		_, _ = expandText(withoutDefaults(text), note)
	}
	slices.Sort(unset)
	return slices.Compact(unset)
}

// withoutDefaults takes references that have a default out of a text.
func withoutDefaults(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		inner, after, closed := strings.Cut(rest, "}")
		if escaped := strings.HasSuffix(before, "$"); escaped || !closed || !strings.Contains(inner, ":-") {
			b.WriteString("${")
			text = rest
			continue
		}
		text = after
	}
}

// serverNode is a server as an entry of the file, what is the default left out,
// and what no other client has.
func serverNode(s Server) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	add := func(key string, value *yaml.Node) {
		if value != nil {
			n.Content = append(n.Content, scalar(key), value)
		}
	}
	add("name", scalar(s.Name))
	if s.Transport == SSE {
		add("transport", scalar(string(s.Transport)))
	}
	add("command", text(s.Command))
	add("args", list(s.Args))
	add("env", texts(s.Env))
	add("cwd", text(s.Cwd))
	add("url", text(s.URL))
	add("headers", texts(s.Headers))
	add("headers_command", list(s.HeadersCommand))
	add("auth", authNode(s.Auth))
	add("allow_tools", list(s.AllowTools))
	add("block_tools", list(s.BlockTools))
	standard := defaultServer()
	add("connect_timeout_seconds", number(s.ConnectTimeoutSeconds, standard.ConnectTimeoutSeconds))
	add("list_timeout_seconds", number(s.ListTimeoutSeconds, standard.ListTimeoutSeconds))
	return n
}

func scalar(value string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(value)
	if n.Style == yaml.LiteralStyle {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// authNode is nil where there is nothing to say.
func authNode(a Auth) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	add := func(key string, value *yaml.Node) {
		if value != nil {
			n.Content = append(n.Content, scalar(key), value)
		}
	}
	add("client_id", text(a.ClientID))
	add("client_secret", text(a.ClientSecret))
	add("scopes", list(a.Scopes))
	add("redirect_port", number(float64(a.RedirectPort), 0))
	if len(n.Content) == 0 {
		return nil
	}
	return n
}

// number is nil for the default, which need not be written.
func number(value, standard float64) *yaml.Node {
	if value == standard {
		return nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.FormatFloat(value, 'f', -1, 64)}
}

func text(value string) *yaml.Node {
	if value == "" {
		return nil
	}
	return scalar(value)
}

func list(values []string) *yaml.Node {
	if len(values) == 0 {
		return nil
	}
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, value := range values {
		n.Content = append(n.Content, scalar(value))
	}
	return n
}

func texts(values map[string]string) *yaml.Node {
	if len(values) == 0 {
		return nil
	}
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		n.Content = append(n.Content, scalar(key), scalar(values[key]))
	}
	return n
}

func mapping(key string, value *yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{scalar(key), value}}
}

func sequence(items ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Content: items}
}

func encode(node *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(node); err != nil {
		return nil, err
	}
	return b.Bytes(), encoder.Close()
}
