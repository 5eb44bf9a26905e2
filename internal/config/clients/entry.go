package clients

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ptc-mcp/ptc-mcp/internal/config"
)

func firstText(f *fields, keys ...string) string {
	first := ""
	for _, key := range keys {
		if text := f.text(key); first == "" {
			first = text
		}
	}
	return first
}

// tools are the lists of tools that the client shows or hides.
func (r *reader) tools(f *fields) (allow, block []string) {
	for _, key := range []string{"includeTools", "enabled_tools"} {
		allow = append(allow, f.list(key)...)
	}
	for _, key := range []string{"excludeTools", "disabled_tools", "disabledTools"} {
		block = append(block, f.list(key)...)
	}
	return allow, block
}

// signIn reads how the client gets at credentials for a remote server.
func (r *reader) signIn(f *fields, s *config.Server) {
	if helper := f.text("headersHelper"); helper != "" {
		shell, option := "sh", "-c"
		if r.place.OS == "windows" {
			shell, option = "cmd", "/c"
		}
		s.HeadersCommand = []string{shell, option, config.Escape(helper)}
	}
	for _, key := range []string{"oauth", "auth"} {
		value, _ := f.get(key)
		object, ok := value.(map[string]any)
		if !ok {
			continue
		}
		o := &fields{values: object, asked: map[string]bool{}}
		s.Auth.ClientID = firstText(o, "clientId", "CLIENT_ID", "client_id")
		s.Auth.ClientSecret = firstText(o, "clientSecret", "CLIENT_SECRET", "client_secret")
		s.Auth.RedirectPort = int(o.number("callbackPort"))
		if _, text := object["scopes"].(string); text {
			s.Auth.Scopes = strings.Fields(o.text("scopes"))
		} else {
			s.Auth.Scopes = o.list("scopes")
		}
		if o.fault != "" && f.fault == "" {
			f.fault = key + "." + o.fault
		}
	}
}

// transport decides how the server is reached, or says why that is unknown.
func (r *reader) transport(f *fields, e *Entry, command, url string) config.Transport {
	word := firstText(f, "type", "transport", "transportType")
	switch strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(word)) {
	case "":
	case "stdio", "local":
		if command == "" {
			e.Problem = "has no command; add one, or a url"
		}
		return config.Stdio
	case "http", "streamablehttp", "remote":
		if url == "" {
			e.Problem = "has no url; add one"
		}
		return config.HTTP
	case "sse":
		if url == "" {
			e.Problem = "has no url; add one"
		}
		return config.SSE
	default:
		e.Problem = fmt.Sprintf("type %q: ptc-mcp speaks stdio, http and sse only", word)
		return ""
	}
	switch {
	case command != "" && url != "":
		e.Problem = "has a command and a url; keep one"
	case command != "":
		return config.Stdio
	case url == "":
		e.Problem = "has neither a command nor a url; add one"
	case f.asked["httpUrl"] && f.values["httpUrl"] != nil:
		return config.HTTP
	case strings.HasSuffix(strings.TrimRight(url, "/"), "/sse"):
		return config.SSE
	}
	return r.source.Client.url
}

// codexFields reads what only Codex has: names of variables in place of values.
func (r *reader) codexFields(f *fields, e *Entry) {
	if r.source.Client.format != codexTOML {
		return
	}
	s := &e.Server
	s.Headers = nil
	delete(f.asked, "headers") // Codex does not know it
	for name, value := range f.texts("http_headers") {
		s.Headers = with(s.Headers, name, config.Escape(value))
	}
	for name, variable := range f.texts("env_http_headers") {
		s.Headers = with(s.Headers, name, "${"+variable+"}")
	}
	if variable := f.text("bearer_token_env_var"); variable != "" {
		s.Headers = with(s.Headers, "Authorization", "Bearer ${"+variable+"}")
	}
	for name := range s.Env {
		s.Env[name] = config.Escape(s.Env[name])
	}
	forwarded, _ := f.get("env_vars")
	list, _ := forwarded.([]any)
	for _, item := range list {
		name, _ := item.(string)
		if object, ok := item.(map[string]any); ok {
			name, _ = object["name"].(string)
		}
		if _, set := s.Env[name]; name != "" && !set {
			s.Env = with(s.Env, name, "${"+name+":-}")
		}
	}
	if seconds := f.number("startup_timeout_sec"); seconds > 0 {
		s.ConnectTimeoutSeconds = seconds
	} else if ms := f.number("startup_timeout_ms"); ms > 0 {
		s.ConnectTimeoutSeconds = ms / 1000
	}
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// spell puts variables in config's terms, and paths relative to the project.
func (r *reader) spell(e *Entry, folder string) {
	at := context{
		place: r.place, scope: e.Scope, folder: folder, inputs: r.inputs(),
		note: func(text string) {
			if !slices.Contains(e.Notes, text) {
				e.Notes = append(e.Notes, text)
			}
		},
	}
	replace := func(text string) string {
		if strings.Contains(text, "$${") && r.source.Client.Name != "claude-desktop" && r.source.Client.format != codexTOML {
			e.Problem = "holds $${, which ptc-mcp reads in another way; write it differently"
		}
		spelled, problem := r.source.Client.spell(text, at)
		if problem != "" {
			e.Problem = problem
		}
		return spelled
	}
	s := &e.Server
	s.Command, s.URL, s.Cwd = replace(s.Command), replace(s.URL), replace(s.Cwd)
	s.Auth.ClientID, s.Auth.ClientSecret = replace(s.Auth.ClientID), replace(s.Auth.ClientSecret)
	for i := range s.Args {
		s.Args[i] = replace(s.Args[i])
	}
	if r.source.Client.format != codexTOML { // there they have been seen to
		for _, texts := range []map[string]string{s.Env, s.Headers} {
			for _, name := range slices.Sorted(maps.Keys(texts)) {
				texts[name] = replace(texts[name])
			}
		}
	}
	switch {
	case s.Transport != config.Stdio:
	case strings.HasPrefix(s.Cwd, "~"):
		s.Cwd = r.place.Home + strings.TrimPrefix(s.Cwd, "~")
	case s.Cwd == "" && e.Scope != User:
		s.Cwd = config.Escape(folder) // where the client would start it
	case s.Cwd != "" && !filepath.IsAbs(s.Cwd) && !strings.HasPrefix(s.Cwd, "${"):
		s.Cwd = filepath.Join(config.Escape(folder), s.Cwd)
	}
}

// inputs are what VS Code would ask for: descriptions by id.
func (r *reader) inputs() map[string]string {
	if r.source.Client.format != vscodeJSON {
		return nil
	}
	list, _ := r.document.value("inputs").([]any)
	inputs := map[string]string{}
	for _, item := range list {
		if object, ok := item.(map[string]any); ok {
			id, _ := object["id"].(string)
			inputs[id], _ = object["description"].(string)
		}
	}
	return inputs
}

// refuse finds what makes an entry unusable whatever else it says: that it is
// switched off, that it is ptc-mcp, and what ptc-mcp cannot do.
func (r *reader) refuse(f *fields, e *Entry) {
	if e.Self {
		e.Problem, e.Expected = "is ptc-mcp itself", true
		return
	}
	title := r.source.Client.Title
	disabled, _ := f.flag("disabled")
	enabled, given := f.flag("enabled")
	switch {
	case disabled || given && !enabled || r.switchedOff(e):
		e.Problem, e.Expected = "is switched off in "+title+"; switch it on there, or write it into config.yaml", true
	case e.Problem != "":
	default:
		for _, key := range []string{"envFile", "sandboxEnabled", "authProviderType"} {
			value, given := f.get(key)
			if !given || value == false || value == "" || value == "dynamic_discovery" {
				continue
			}
			e.Problem = map[string]string{
				"envFile":          "takes variables from a file (envFile), which ptc-mcp does not read; put them into its env",
				"sandboxEnabled":   "runs in the client's own sandbox (sandboxEnabled), which ptc-mcp has not; write it into config.yaml to run it without",
				"authProviderType": "signs in by way of the client (authProviderType); write it into config.yaml with the headers it needs",
			}[key]
			break
		}
	}
}

// switchedOff looks into the lists by which clients switch servers off.
func (r *reader) switchedOff(e *Entry) bool {
	has := func(path ...string) (listed, given bool) {
		list, ok := r.document.value(path...).([]any)
		return slices.Contains(list, any(e.Name)), ok && len(list) > 0
	}
	switch r.source.Client.Name {
	case "gemini":
		allowed, given := has("mcp", "allowed")
		excluded, _ := has("mcp", "excluded")
		return excluded || given && !allowed
	case "claude-code":
		off, _ := has("projects", r.place.Folder, "disabledMcpServers")
		return off
	}
	return false
}
