package credentials

import (
	"net/http"
	"strings"
)

// maxChallenge bounds what is looked at of a response's WWW-Authenticate.
const maxChallenge = 16 << 10

// bearerChallenge returns the parameters of the first Bearer challenge of a
// response (RFC 9110, section 11.6.1; RFC 6750, section 3), by their names in
// lower case. It is nil when there is none.
func bearerChallenge(header http.Header) map[string]string {
	for _, value := range header.Values("WWW-Authenticate") {
		s := scanner(value[:min(len(value), maxChallenge)])
		for s != "" {
			scheme, params := s.challenge()
			if strings.EqualFold(scheme, "Bearer") {
				return params
			}
			if scheme == "" && len(params) == 0 {
				break
			}
		}
	}
	return nil
}

// scanner is what is still to be read of a list of challenges.
type scanner string

// challenge reads one: a scheme, then parameters up to the next scheme.
func (s *scanner) challenge() (scheme string, params map[string]string) {
	s.skip(" \t,")
	scheme = s.token()
	params = map[string]string{}
	for {
		before := *s
		s.skip(" \t,")
		name := s.token()
		if name == "" {
			s.drop() // what no grammar has: a token68, or rubbish
			return scheme, params
		}
		s.skip(" \t")
		if !s.take('=') {
			*s = before // it is the next scheme
			return scheme, params
		}
		s.skip(" \t")
		value := s.value()
		if _, again := params[strings.ToLower(name)]; !again {
			params[strings.ToLower(name)] = value
		}
	}
}

func (s *scanner) skip(set string) { *s = scanner(strings.TrimLeft(string(*s), set)) }

// drop skips to after the next comma, so that every step goes on.
func (s *scanner) drop() {
	_, rest, _ := strings.Cut(string(*s), ",")
	*s = scanner(rest)
}

func (s *scanner) take(c byte) bool {
	if len(*s) > 0 && (*s)[0] == c {
		*s = (*s)[1:]
		return true
	}
	return false
}

func (s *scanner) token() string {
	end := strings.IndexFunc(string(*s), func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	})
	if end < 0 {
		end = len(*s)
	}
	token := string((*s)[:end])
	*s = (*s)[end:]
	return token
}

// value reads a token or a quoted string. Unquoted values with characters that
// want quotes, as some servers send them, are taken up to the next comma.
func (s *scanner) value() string {
	if !s.take('"') {
		value, rest, found := strings.Cut(string(*s), ",")
		if *s = scanner(rest); found {
			*s = "," + *s
		}
		return strings.TrimSpace(value)
	}
	var b strings.Builder
	for i := 0; i < len(*s); i++ {
		switch c := (*s)[i]; {
		case c == '"':
			*s = (*s)[i+1:]
			return b.String()
		case c == '\\' && i+1 < len(*s):
			i++
			b.WriteByte((*s)[i])
		default:
			b.WriteByte(c)
		}
	}
	*s = ""
	return b.String()
}

// scopesOf splits a list of scopes, each once, in their order.
func scopesOf(list string) []string { return union(strings.Fields(list)) }

// union joins lists of scopes.
func union(lists ...[]string) []string {
	seen := map[string]bool{}
	var all []string
	for _, list := range lists {
		for _, scope := range list {
			if !seen[scope] {
				seen[scope] = true
				all = append(all, scope)
			}
		}
	}
	return all
}
