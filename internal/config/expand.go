package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// expand replaces variables in what says how every server is reached.
func expand(cfg *Config, v *validator, lookup func(string) (string, bool)) {
	for i := range cfg.Servers {
		server := &cfg.Servers[i]
		path := "servers[" + strconv.Itoa(i) + "]"
		replace := func(text *string, key string) {
			expanded, err := expandText(*text, lookup)
			if err != nil {
				v.add(path+key, "server %s: %v", quote(server.Name), err)
				return
			}
			*text = expanded
		}
		replaceAll := func(texts map[string]string, key string) {
			for _, name := range slices.Sorted(maps.Keys(texts)) {
				text := texts[name]
				replace(&text, strings.TrimPrefix(join(path+key, name), path))
				texts[name] = text
			}
		}
		replaceList := func(texts []string, key string) {
			for j := range texts {
				replace(&texts[j], key+"["+strconv.Itoa(j)+"]")
			}
		}
		replace(&server.Command, ".command")
		replaceList(server.Args, ".args")
		replaceAll(server.Env, ".env")
		replace(&server.Cwd, ".cwd")
		replace(&server.URL, ".url")
		replaceAll(server.Headers, ".headers")
		replaceList(server.HeadersCommand, ".headers_command")
		replace(&server.Auth.ClientID, ".auth.client_id")
		replace(&server.Auth.ClientSecret, ".auth.client_secret")
		replace(&server.Auth.Issuer, ".auth.issuer")
		replaceList(server.Auth.Scopes, ".auth.scopes")
		replace(&server.CAFile, ".ca_file")
	}
}

var reference = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)(:-)?`)

// expandText replaces ${NAME} by the variable's value and ${NAME:-default} by
// the default where the variable is unset or empty, as a POSIX shell does.
// $${ stands for ${ itself; every other $ stands for itself.
func expandText(text string, lookup func(string) (string, bool)) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		if !found {
			b.WriteString(text)
			return b.String(), nil
		}
		text = rest
		if literal, escaped := strings.CutSuffix(before, "$"); escaped {
			b.WriteString(literal + "${")
			continue
		}
		b.WriteString(before)

		inner, after, closed := strings.Cut(text, "}")
		match := reference.FindStringSubmatch(inner)
		if !closed || match == nil {
			return "", fmt.Errorf("after ${ comes no variable; write ${NAME} or ${NAME:-default}, and $${ for ${ itself")
		}
		name, hasDefault, fallback := match[1], match[2] != "", inner[len(match[0]):]
		switch {
		case !hasDefault && fallback != "":
			return "", fmt.Errorf("variable %s is followed by something other than }; write ${%s} or ${%s:-default}", name, name, name)
		case strings.Contains(fallback, "${"):
			return "", fmt.Errorf("the default of variable %s holds another variable; only plain text is possible there", name)
		}
		value, set := lookup(name)
		switch {
		case hasDefault && value == "":
			value = fallback
		case !set && !hasDefault:
			return "", fmt.Errorf("variable %s is not set; set it, or give a default: ${%s:-default}", name, name)
		}
		b.WriteString(value)
		text = after
	}
}

// Escape returns a text that stands for the given one where variables expand.
func Escape(text string) string { return strings.ReplaceAll(text, "${", "$${") }
