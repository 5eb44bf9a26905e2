package clients

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ptc-mcp/ptc-mcp/internal/config"
)

// speller puts a text of a client's file in config's terms. It complains of
// variables that only the client can fill in.
type speller func(text string, at context) (spelled, problem string)

// context is what a client's own variables stand for.
type context struct {
	place  Place
	scope  Scope
	folder string // the project's
	inputs map[string]string
	note   func(string)
}

// noVariables is for clients that expand none.
func noVariables(text string, _ context) (string, string) { return config.Escape(text), "" }

// each replaces every ${…} by what replace makes of what is in it, and escapes
// what it does not know.
func each(text string, replace func(inner string) (string, bool)) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		inner, after, closed := strings.Cut(rest, "}")
		if !found || !closed {
			b.WriteString(config.Escape(text))
			return b.String()
		}
		b.WriteString(before)
		if replaced, ok := replace(inner); ok {
			b.WriteString(replaced)
		} else {
			b.WriteString("$${" + inner + "}")
		}
		text = after
	}
}

// reference is what config takes between ${ and }.
var reference = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(:-[^{}]*)?$`)

// claudeVariables is for Claude Code: ${NAME} and ${NAME:-default}. What is
// not set stays as it is there; here it is an error that says so.
func claudeVariables(text string, at context) (string, string) {
	problem := ""
	spelled := each(text, func(inner string) (string, bool) {
		name, fallback, hasFallback := strings.Cut(inner, ":-")
		switch name {
		case "CLAUDE_PROJECT_DIR":
			if at.scope == User && hasFallback {
				return fallback, true
			}
			return config.Escape(at.folder), true
		case "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA":
			problem = "${" + name + "} is known to Claude Code only; write the path"
		}
		return "${" + inner + "}", reference.MatchString(inner)
	})
	return spelled, problem
}

var dollar = regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)`)

// geminiVariables is for Gemini CLI: $NAME, ${NAME} and ${NAME:-default}.
func geminiVariables(text string, at context) (string, string) {
	spelled := each(text, func(inner string) (string, bool) {
		return "${" + inner + "}", reference.MatchString(inner)
	})
	return dollar.ReplaceAllString(spelled, "$${$1}"), ""
}

// editorVariables is for VS Code and its relatives: ${env:NAME}, ${input:ID},
// ${userHome}, ${workspaceFolder}, ${pathSeparator}.
func editorVariables(text string, at context) (string, string) {
	problem := ""
	spelled := each(text, func(inner string) (string, bool) {
		kind, name, _ := strings.Cut(inner, ":")
		switch {
		case kind == "env" && reference.MatchString(name) && !strings.Contains(name, ":"):
			return "${" + name + "}", true
		case kind == "input" && name != "":
			variable := VariableName(name)
			what := name
			if description := at.inputs[name]; description != "" {
				what = description
			}
			at.note("the client asks for “" + what + "”; ptc-mcp takes it from the variable " + variable)
			return "${" + variable + "}", true
		case inner == "userHome":
			if at.place.OS == "windows" {
				return "${USERPROFILE}", true
			}
			return "${HOME}", true
		case inner == "workspaceFolder" && at.scope == Project:
			return config.Escape(at.folder), true
		case inner == "workspaceFolderBasename" && at.scope == Project:
			return config.Escape(filepath.Base(at.folder)), true
		case inner == "pathSeparator" || inner == "/":
			if at.place.OS == "windows" {
				return `\`, true
			}
			return "/", true
		case kind == "config", kind == "command", strings.HasPrefix(kind, "workspaceFolder"), kind == "file", kind == "cwd":
			problem = "${" + inner + "} can be filled in by the client only; write what it stands for"
		}
		return "", false
	})
	return spelled, problem
}

// VariableName makes a variable's name of any text: github-token becomes
// GITHUB_TOKEN.
func VariableName(text string) string {
	name := strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			return r
		}
		return '_'
	}, text), "_")
	if name == "" || '0' <= name[0] && name[0] <= '9' {
		name = "_" + name
	}
	return name
}
