package setup

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ptc-mcp/ptc-mcp/internal/config"
	"github.com/ptc-mcp/ptc-mcp/internal/config/clients"
)

// Secret is a place in an entry that seems to hold a secret as it is.
type Secret struct {
	// Key is where, such as env.GITHUB_TOKEN.
	Key string
	// Variable is a name for it.
	Variable string
	// Value is the secret; it must not be shown.
	Value string

	put func(*config.Server, string) // replaces the value in an entry
}

var (
	// What names of secrets have in common.
	secretName = regexp.MustCompile(`(?i)(token|secret|passw(or)?d|passphrase|api[-_]?key|access[-_]?key|private[-_]?key|credential|authorization|auth$|cookie|dsn$|connection[-_]?string)`)
	// How keys of well-known services begin, and what JSON web tokens look like.
	secretValue = regexp.MustCompile(`^(sk-|sk_|pk_live_|rk_live_|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AIza|ya29\.|eyJ[A-Za-z0-9_-]{10,}\.|npm_|pypi-|dop_v1_|hf_|ntn_|secret_|lin_api_|figd_|shpat_|-----BEGIN )`)
	// An option of the command line whose value follows.
	secretOption = regexp.MustCompile(`(?i)^--?[a-z-]*(token|secret|password|api-?key|access-?key)$`)
	scheme       = regexp.MustCompile(`^(?i)(Bearer|Basic|Token|ApiKey) +`)
)

// literal reports whether a text holds no variable.
func literal(text string) bool {
	return !strings.Contains(strings.ReplaceAll(text, "$${", ""), "${")
}

func looksSecret(name, value string) bool {
	if len(value) < 6 || !literal(value) {
		return false
	}
	if secretValue.MatchString(value) {
		return true
	}
	_, err := strconv.ParseFloat(value, 64)
	path := strings.HasPrefix(value, "/") || strings.HasPrefix(value, "./") || strings.HasPrefix(value, "~")
	return secretName.MatchString(name) && err != nil && !path && value != "false"
}

// secrets finds what seems to be secret in an entry, in a fixed order.
func secrets(s config.Server) []Secret {
	var found []Secret
	prefix := clients.VariableName(s.Name) + "_"
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if value := s.Env[name]; looksSecret(name, value) {
			found = append(found, Secret{"env." + name, clients.VariableName(name), value, func(s *config.Server, text string) { s.Env[name] = text }})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		value := s.Headers[name]
		before := scheme.FindString(value)
		if secret := value[len(before):]; looksSecret(name, secret) {
			variable := prefix + clients.VariableName(name)
			if strings.EqualFold(name, "Authorization") {
				variable = prefix + "TOKEN"
			}
			found = append(found, Secret{"headers." + name, variable, secret, func(s *config.Server, text string) { s.Headers[name] = before + text }})
		}
	}
	for i, arg := range s.Args {
		option, value, joined := strings.Cut(arg, "=")
		switch {
		case joined && strings.HasPrefix(option, "-") && looksSecret(option, value):
			found = append(found, Secret{"args[" + strconv.Itoa(i) + "]", prefix + clients.VariableName(option), value, func(s *config.Server, text string) { s.Args[i] = option + "=" + text }})
		case i > 0 && secretOption.MatchString(s.Args[i-1]) && looksSecret("secret", arg), secretValue.MatchString(arg) && looksSecret("", arg):
			variable := prefix + "SECRET"
			if i > 0 && strings.HasPrefix(s.Args[i-1], "-") {
				variable = prefix + clients.VariableName(s.Args[i-1])
			}
			found = append(found, Secret{"args[" + strconv.Itoa(i) + "]", variable, arg, func(s *config.Server, text string) { s.Args[i] = text }})
		default:
			if password := urlPassword(arg); password != "" {
				found = append(found, Secret{"args[" + strconv.Itoa(i) + "]", prefix + "URL", arg, func(s *config.Server, text string) { s.Args[i] = text }})
			}
		}
	}
	if value := s.Auth.ClientSecret; value != "" && literal(value) {
		found = append(found, Secret{"auth.client_secret", prefix + "CLIENT_SECRET", value, func(s *config.Server, text string) { s.Auth.ClientSecret = text }})
	}
	if urlPassword(s.URL) != "" {
		found = append(found, Secret{"url", prefix + "URL", s.URL, func(s *config.Server, text string) { s.URL = text }})
	}
	return found
}

// urlPassword is the password or the key that an address holds; empty for none.
func urlPassword(text string) string {
	if !strings.Contains(text, "://") || !literal(text) {
		return ""
	}
	address, err := url.Parse(text)
	if err != nil {
		return ""
	}
	if password, ok := address.User.Password(); ok {
		return password
	}
	query := address.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if value := query.Get(name); secretName.MatchString(name) && looksSecret(name, value) {
			return value
		}
	}
	return ""
}

// withVariables returns the entry with its secrets replaced by variables.
func withVariables(s config.Server, secrets []Secret) config.Server {
	s.Args, s.Env, s.Headers = slices.Clone(s.Args), maps.Clone(s.Env), maps.Clone(s.Headers)
	for _, secret := range secrets {
		secret.put(&s, "${"+secret.Variable+"}")
	}
	return s
}

// Mask hides secrets in a text that is shown.
func (p *Plan) Mask(text string) string {
	for _, secret := range p.Secrets {
		text = strings.ReplaceAll(text, secret, "•••")
	}
	return text
}
