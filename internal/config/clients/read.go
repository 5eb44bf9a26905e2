package clients

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ptc-mcp/ptc-mcp/internal/config"
)

// maxFileBytes bounds a client's file. Claude Code keeps much else in its own.
const maxFileBytes = 64 << 20

// Source is a file as it was read.
type Source struct {
	File
	// Exists is false where there is no such file, which is no fault.
	Exists bool
	// Problem is why it could not be read as a whole.
	Problem *Problem
	// Entries are its servers, in the order of the file.
	Entries []Entry
	// Elsewhere counts the servers that it keeps for other projects only.
	Elsewhere int
}

// Read reads one file.
func Read(place Place, file File) Source {
	source := Source{File: file}
	data, err := load(file.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return source
	case err != nil:
		source.Exists, source.Problem = true, &Problem{Path: file.Path, Message: message(err)}
		return source
	}
	source.Exists = true
	source.parse(place, data)
	return source
}

func message(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err.Error()
	}
	return err.Error()
}

func load(path string) ([]byte, error) {
	// Looked at before it is opened: opening a pipe waits for a writer.
	info, err := os.Stat(path)
	if err != nil {
		if _, parent := os.Stat(filepath.Dir(path)); parent != nil {
			return nil, fs.ErrNotExist // nor anything where its folder should be
		}
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err == nil && len(data) > maxFileBytes {
		err = fmt.Errorf("is larger than %d MiB", maxFileBytes>>20)
	}
	return data, err
}

func (s *Source) parse(place Place, data []byte) {
	d, problem := parse(s.File, data)
	if problem != nil {
		s.Problem = problem
		return
	}
	r := reader{source: s, place: place, document: d}
	switch s.Client.format {
	case codexTOML:
		r.servers(d, s.Scope, r.folder(), 0, "mcp_servers")
	case vscodeJSON:
		r.servers(d, s.Scope, r.folder(), 0, "servers")
	case jsonServers:
		if s.Client.Name == "claude-code" && s.Scope == User {
			r.claudeProjects()
		}
		r.servers(d, s.Scope, r.folder(), 0, "mcpServers")
	}
}

// reader turns one document into entries.
type reader struct {
	source   *Source
	place    Place
	document document
}

// folder is the project that a project's file belongs to.
func (r *reader) folder() string {
	if r.source.Scope == User {
		return r.place.Folder
	}
	folder := filepath.Dir(r.source.Path)
	if slices.Contains([]string{".vscode", ".cursor", ".codex", ".gemini"}, filepath.Base(folder)) {
		folder = filepath.Dir(folder)
	}
	return folder
}

// claudeProjects reads what Claude Code keeps for the present folder and for
// those above it; the nearest wins.
func (r *reader) claudeProjects() {
	for _, project := range r.document.children("projects") {
		up, inside := above(r.place.Folder, project.name)
		if !inside {
			servers, _ := project.object("mcpServers")
			r.source.Elsewhere += len(servers)
			continue
		}
		r.servers(project.document, Local, project.name, up, "mcpServers")
	}
}

// above counts the steps from folder up to other.
func above(folder, other string) (steps int, inside bool) {
	relative, err := filepath.Rel(other, folder)
	if err != nil || relative == ".." || strings.HasPrefix(relative, ".."+string(filepath.Separator)) {
		return 0, false
	}
	if relative == "." {
		return 0, true
	}
	return strings.Count(relative, string(filepath.Separator)) + 1, true
}

// servers reads the entries of an object in a document.
func (r *reader) servers(in document, scope Scope, folder string, steps int, path ...string) {
	members, problem := in.object(path...)
	if problem != nil {
		r.source.Problem = problem
		return
	}
	for _, m := range members {
		e := Entry{
			File: r.source.File, Scope: scope, Name: m.name, Line: m.line, Column: m.column,
			rank: steps + map[Scope]int{Local: 0, Project: 1 << 16, User: 1 << 17}[scope],
		}
		if scope == Local {
			e.project = folder
		}
		r.fill(&e, m.value, folder)
		r.source.Entries = append(r.source.Entries, e)
	}
}

// fill makes a server of an entry's members.
func (r *reader) fill(e *Entry, value any, folder string) {
	object, ok := value.(map[string]any)
	if !ok {
		e.Problem = "is no server; it should be an object with a command or a url"
		return
	}
	f := &fields{values: object, asked: map[string]bool{}}
	e.Server = config.NewServer(e.Name)
	s := &e.Server
	command := f.text("command")
	url := firstText(f, "url", "httpUrl", "serverUrl")
	s.Args, s.Env, s.Cwd = f.list("args"), f.texts("env"), f.text("cwd")
	s.Headers = f.texts("headers")
	s.AllowTools, s.BlockTools = r.tools(f)
	r.signIn(f, s)
	transport := r.transport(f, e, command, url)
	r.codexFields(f, e)
	switch {
	case e.Problem != "":
	case f.fault != "":
		e.Problem = f.fault
	case transport == config.Stdio:
		s.Transport, s.Command = transport, command
		s.Headers, s.HeadersCommand, s.Auth = nil, nil, config.Auth{}
		e.Self = IsSelf(command, s.Args)
	default:
		s.Transport, s.URL = transport, url
		s.Args, s.Env, s.Cwd = nil, nil, ""
	}
	if e.Problem == "" {
		r.spell(e, folder)
	}
	r.refuse(f, e)
	if e.Usable() {
		// Whether its variables are set is for the time at which it starts.
		if _, err := config.Resolve(*s, func(string) (string, bool) { return "http://localhost", true }); err != nil {
			e.Problem = strings.ReplaceAll(err.Error(), "\n", "; ")
		}
	}
	if rest := f.rest(); len(rest) > 0 && e.Usable() {
		e.Notes = append(e.Notes, "not taken over: "+strings.Join(rest, ", "))
	}
}

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
