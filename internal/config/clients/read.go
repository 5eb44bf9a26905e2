package clients

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
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
