package config

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const maxNameBytes = 128

func (v *validator) servers(servers []Server) {
	first := map[string]position{}
	for i := range servers {
		server := &servers[i]
		path := "servers[" + strconv.Itoa(i) + "]"
		if v.problems.mention(path) {
			continue
		}
		v.name(server.Name, path, first)
		v.transport(server, path)
		v.command(server.Command, path+".command")
		v.variables(server.Env, path+".env")
		v.folder(server.Cwd, path+".cwd")
		v.url(server.URL, path+".url")
		v.headers(server.Headers, path+".headers")
		v.toolNames(server.AllowTools, path+".allow_tools")
		v.toolNames(server.BlockTools, path+".block_tools")
		v.authentication(server, path)
		if v.has(path + ".max_concurrent_calls") {
			v.count(path+".max_concurrent_calls", server.MaxConcurrentCalls, 1, 10_000)
		}
		v.seconds(path+".connect_timeout_seconds", server.ConnectTimeoutSeconds)
		v.seconds(path+".list_timeout_seconds", server.ListTimeoutSeconds)
	}
}

func (v *validator) name(name, server string, first map[string]position) {
	key := server + ".name"
	switch {
	case v.problems.mention(key), v.mistyped[server] && !v.has(key):
		return
	case !v.has(key):
		v.add(key, "is missing; it becomes part of the tools' names, mcp__<name>__<tool>")
	case name == "":
		v.add(key, "is empty; it becomes part of the tools' names, mcp__<name>__<tool>")
	case len(name) > maxNameBytes:
		v.add(key, "is longer than %d bytes", maxNameBytes)
	case strings.TrimSpace(name) != name, strings.ContainsFunc(name, unprintable):
		v.add(key, "%s begins or ends with a blank, or holds a character that cannot be printed", quote(name))
	case first[name] != position{}:
		v.add(key, "another server, in line %d, is called %s already", first[name].line, quote(name))
	default:
		first[name] = v.given[key]
		v.literal(key, name)
	}
}

// transport fills in the transport where the file leaves it out, and checks
// that it and the other keys go together.
func (v *validator) transport(server *Server, path string) {
	hasCommand, hasURL := v.has(path+".command"), v.has(path+".url")
	if !v.has(path + ".transport") {
		switch {
		case hasCommand && hasURL:
			v.add(path+".url", "cannot stand beside command; keep one")
			return
		case hasCommand:
			server.Transport = Stdio
		case hasURL:
			server.Transport = HTTP
		default:
			if !v.mistyped[path] {
				v.add(path, "wants a command (stdio) or a url (http or sse)")
			}
			return
		}
	}
	var wants, others []string
	switch server.Transport {
	case Stdio:
		wants, others = []string{"command"}, []string{"url", "headers", "headers_command", "headers_cache_seconds", "auth", "ca_file"}
	case HTTP, SSE:
		wants, others = []string{"url"}, []string{"command", "args", "env", "cwd"}
	}
	for _, key := range wants {
		if !v.has(path+"."+key) && !v.mistyped[path] {
			v.add(path+"."+key, "is missing; a server with the transport %s wants it", server.Transport)
		}
	}
	for _, key := range others {
		if v.has(path + "." + key) {
			v.add(path+"."+key, "has no meaning with the transport %s; remove it, or change the transport", server.Transport)
		}
	}
}

func (v *validator) command(command, key string) {
	if !v.has(key) || v.problems.mention(key) {
		return
	}
	if strings.TrimSpace(command) == "" {
		v.add(key, "is empty")
		return
	}
	if word, _, more := strings.Cut(command, " "); more && !strings.ContainsAny(word, `/\`) {
		v.add(key, "is one program, without arguments; move what follows the first blank to args")
		return
	}
	v.program(key, command)
}

func (v *validator) folder(path, key string) {
	switch {
	case !v.has(key) || v.problems.mention(key):
	case path == "":
		v.add(key, "is empty; remove the key to have the folder that ptc-mcp is started in")
	default:
		v.program(key, path)
	}
}

// toolNames checks a list of a server's own names of its tools.
func (v *validator) toolNames(names []string, key string) {
	if v.has(key) && len(names) == 0 && strings.HasSuffix(key, ".allow_tools") && !v.problems.mention(key) {
		v.add(key, "lists nothing, so no tool of the server could be called; list names, or remove the key to allow all")
	}
	for i, name := range names {
		item := key + "[" + strconv.Itoa(i) + "]"
		switch {
		case v.problems.mention(item):
		case name == "":
			v.add(item, "is empty; write the server's own name of a tool")
		case strings.HasPrefix(name, "mcp__"), strings.ContainsAny(name, "*?"):
			v.add(item, "%s is a pattern or a callable name, which stand under tools; here stands the server's own name of one tool", quote(name))
		default:
			v.literal(item, name)
		}
	}
}

// imports checks the list of other clients: each item is a client or a path.
func (v *validator) imports(items []string) {
	for i, item := range items {
		key := "import[" + strconv.Itoa(i) + "]"
		switch {
		case v.problems.mention(key), slices.Contains(Clients(), item):
		case slices.Contains(items[:i], item):
			v.add(key, "%s is listed twice", quote(item))
		case !strings.ContainsAny(item, `./\\`):
			v.add(key, "%s is neither a client nor the path of a file such as .mcp.json; %s", quote(item), choices(item, Clients()))
		case v.literal(key, item):
			v.program(key, item)
		}
	}
}

func (v *validator) variables(env map[string]string, key string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		switch item := join(key, name); {
		case v.problems.mention(item):
		case name == "" || strings.ContainsAny(name, "=\x00"):
			v.add(item, "%s cannot be the name of a variable", quote(name))
		case strings.Contains(env[name], "\x00"):
			v.add(item, "holds a zero byte, which no variable can")
		}
	}
}

// url complains without repeating the value, in which there may be a secret.
func (v *validator) url(value, key string) {
	if !v.has(key) || v.problems.mention(key) {
		return
	}
	switch parsed, err := url.Parse(value); {
	case value == "":
		v.add(key, "is empty")
	case err != nil || parsed.Scheme != "http" && parsed.Scheme != "https":
		v.add(key, "is not an address that begins with http:// or https://")
	case parsed.Hostname() == "":
		v.add(key, "names no host")
	}
}

// Names and values of headers, RFC 9110, sections 5.1 and 5.5.
var (
	headerName  = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	headerValue = regexp.MustCompile(`^[^\x00-\x08\x0a-\x1f\x7f]*$`)
)

func (v *validator) headers(headers map[string]string, key string) {
	first := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		item, folded := join(key, name), strings.ToLower(name)
		switch {
		case v.problems.mention(item):
		case !headerName.MatchString(name):
			v.add(item, "%s cannot be the name of a header", quote(name))
		case !headerValue.MatchString(headers[name]):
			v.add(item, "holds a line break or another character that no header can hold")
		case first[folded] != "":
			v.add(item, "is the same header as %s; keep one", first[folded])
		}
		first[folded] = name
	}
}
