package config

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// scopeToken is one scope, RFC 6749, section 3.3.
var scopeToken = regexp.MustCompile(`^[!#-\[\]-~]+$`)

const defaultHeadersCacheSeconds = 3600

// authentication checks what says who we are to a server. Of headers, a command
// for them and OAuth, only one can give the Authorization header.
func (v *validator) authentication(server *Server, path string) {
	v.headersCommand(server, path)
	v.auth(&server.Auth, path+".auth")
	if v.has(path + ".ca_file") {
		v.program(path+".ca_file", server.CAFile)
	}
	static := slices.ContainsFunc(slices.Collect(maps.Keys(server.Headers)), func(name string) bool {
		return strings.EqualFold(name, "Authorization")
	})
	for _, other := range []struct {
		given bool
		what  string
	}{
		{static, "the header Authorization"},
		{v.has(path + ".headers_command"), "headers_command"},
	} {
		if other.given && v.has(path+".auth") {
			v.add(path+".auth", "cannot stand beside %s; keep the one that the server wants", other.what)
		}
	}
}

func (v *validator) headersCommand(server *Server, path string) {
	key := path + ".headers_command"
	if v.has(path + ".headers_cache_seconds") {
		v.seconds(path+".headers_cache_seconds", server.HeadersCacheSeconds)
	} else if v.has(key) {
		server.HeadersCacheSeconds = defaultHeadersCacheSeconds
	}
	if !v.has(key) {
		if v.has(path+".headers_cache_seconds") && !v.mistyped[path] {
			v.add(path+".headers_cache_seconds", "has no meaning without headers_command")
		}
		return
	}
	if len(server.HeadersCommand) == 0 {
		if !v.problems.mention(key) {
			v.add(key, "names no program; list it and its arguments, or remove the key")
		}
		return
	}
	v.command(server.HeadersCommand[0], key+"[0]")
}

func (v *validator) auth(auth *Auth, path string) {
	if v.has(path+".client_secret") && auth.ClientID == "" && !v.problems.mention(path+".client_id") {
		v.add(path+".client_secret", "has no meaning without client_id")
	}
	for key, value := range map[string]string{".client_id": auth.ClientID, ".client_secret": auth.ClientSecret} {
		if v.has(path+key) && value == "" && !v.problems.mention(path+key) {
			v.add(path+key, "is empty; remove the key if there is none")
		}
	}
	v.url(auth.Issuer, path+".issuer")
	for i, scope := range auth.Scopes {
		item := path + ".scopes[" + strconv.Itoa(i) + "]"
		if !v.problems.mention(item) && !scopeToken.MatchString(scope) {
			v.add(item, "is not one scope: letters, digits and signs without blanks; make each scope an item of its own")
		}
	}
	if v.has(path + ".redirect_port") {
		v.count(path+".redirect_port", auth.RedirectPort, 1, 65535)
	}
}
