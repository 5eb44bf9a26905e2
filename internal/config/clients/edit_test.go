package clients

import (
	"path/filepath"
	"strings"
	"testing"
)

func fileOf(client string) File {
	return File{Client: ByName(client), Scope: User, Path: "settings"}
}

func TestAServerIsAddedToAFileThatIsOtherwiseLeftAlone(t *testing.T) {
	tests := map[string]struct{ client, before, after string }{
		"a new file of Claude Code": {"claude-code", "", `{
  "mcpServers": {
    "ptc": {
      "type": "stdio",
      "command": "/bin/ptc-mcp",
      "args": ["serve", "--config", "/c d/config.yaml"],
      "env": {}
    }
  }
}
`},
		"a file with comments, tabs and commas at the end": {"cursor",
			"// mine\n{\n\t\"mcpServers\": {\n\t\t// the first\n\t\t\"a\": {\"command\": \"b\"}, // it\n\t\t// no more\n\t},\n}\n",
			"// mine\n{\n\t\"mcpServers\": {\n\t\t// the first\n\t\t\"a\": {\"command\": \"b\"}, // it\n\t\t// no more\n\t\t\"ptc\": {\n\t\t\t\"command\": \"/bin/ptc-mcp\",\n\t\t\t\"args\": [\"serve\", \"--config\", \"/c d/config.yaml\"]\n\t\t},\n\t},\n}\n"},
		"a comment after the last one, without a comma": {"windsurf",
			"{\"mcpServers\": {\n    \"a\": {} // it\n}}",
			"{\"mcpServers\": {\n    \"a\": {}, // it\n    \"ptc\": {\n      \"command\": \"/bin/ptc-mcp\",\n      \"args\": [\"serve\", \"--config\", \"/c d/config.yaml\"]\n    }\n}}"},
		"other keys, on one line": {"gemini",
			`{"theme": "x"}`,
			"{\"theme\": \"x\", \"mcpServers\": {\n    \"ptc\": {\n      \"command\": \"/bin/ptc-mcp\",\n      \"args\": [\"serve\", \"--config\", \"/c d/config.yaml\"]\n    }\n  }}"},
		"VS Code, and lines that end as on Windows": {"vscode",
			"\xef\xbb\xbf{\r\n  \"servers\": {}\r\n}\r\n",
			"\xef\xbb\xbf{\r\n  \"servers\": {\r\n    \"ptc\": {\r\n      \"type\": \"stdio\",\r\n      \"command\": \"/bin/ptc-mcp\",\r\n      \"args\": [\"serve\", \"--config\", \"/c d/config.yaml\"]\r\n    }\r\n  }\r\n}\r\n"},
		"Codex": {"codex",
			"model = \"x\" # mine\n\n[mcp_servers.a]\ncommand = \"b\"\n\n",
			"model = \"x\" # mine\n\n[mcp_servers.a]\ncommand = \"b\"\n\n[mcp_servers.ptc]\ncommand = \"/bin/ptc-mcp\"\nargs = [\"serve\", \"--config\", \"/c d/config.yaml\"]\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			file := fileOf(test.client)
			got, err := file.AddServer([]byte(test.before), "ptc", "/bin/ptc-mcp", []string{"serve", "--config", "/c d/config.yaml"})
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.after {
				t.Errorf("got\n%s\nwant\n%s", got, test.after)
			}
			source := Source{File: file}
			source.parse(Place{OS: "linux", Home: "/home/me", Folder: "/p", Getenv: func(string) string { return "" }}, got)
			last := source.Entries[len(source.Entries)-1]
			if source.Problem != nil || !last.Self || last.Server.Args[2] != "/c d/config.yaml" {
				t.Errorf("reads as %+v, %v", last, source.Problem)
			}
		})
	}
}

func TestAnEntryIsStoppedAndTheRestLeftAlone(t *testing.T) {
	tests := map[string]struct{ client, entry, before, after string }{
		"the first": {"cursor", "a",
			"{\"mcpServers\": {\n  \"a\": {\"command\": \"x\"},\n  \"b\": {\"command\": \"y\"}\n}}",
			"{\"mcpServers\": {\n  \"b\": {\"command\": \"y\"}\n}}"},
		"the last": {"cursor", "b",
			"{\"mcpServers\": {\n  \"a\": {\"command\": \"x\"},\n  \"b\": {\"command\": \"y\"}\n}}",
			"{\"mcpServers\": {\n  \"a\": {\"command\": \"x\"}\n}}"},
		"the last of those with commas": {"cursor", "b",
			"{\"mcpServers\": {\n  \"a\": {\"command\": \"x\"},\n  \"b\": {\"command\": \"y\"},\n}}",
			"{\"mcpServers\": {\n  \"a\": {\"command\": \"x\"},\n}}"},
		"the only one": {"claude-desktop", "a",
			"{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}\n  },\n  \"theme\": 1\n}\n",
			"{\n  \"mcpServers\": {\n  },\n  \"theme\": 1\n}\n"},
		"comments stay": {"vscode", "a",
			"{\"servers\": {\n  // first\n  \"a\": {\"command\": \"x\"}, // here\n  /* second */ \"b\": {\"command\": \"y\"}\n}}",
			"{\"servers\": {\n  // first // here\n  /* second */ \"b\": {\"command\": \"y\"}\n}}"},
		"switched off in Windsurf": {"windsurf", "a",
			"{\"mcpServers\": {\n  \"a\": {\"command\": \"x\", \"disabled\": false}\n}}",
			"{\"mcpServers\": {\n  \"a\": {\"command\": \"x\", \"disabled\": true}\n}}"},
		"switched off in Windsurf for the first time": {"windsurf", "a",
			"{\"mcpServers\": {\n  \"a\": {\n    \"command\": \"x\"\n  }\n}}",
			"{\"mcpServers\": {\n  \"a\": {\n    \"command\": \"x\",\n    \"disabled\": true\n  }\n}}"},
		"switched off in Codex": {"codex", "a",
			"[mcp_servers.a] # mine\ncommand = \"x\"\n[mcp_servers.a.env]\nB = \"c\"\n",
			"[mcp_servers.a] # mine\nenabled = false\ncommand = \"x\"\n[mcp_servers.a.env]\nB = \"c\"\n"},
		"switched on before in Codex": {"codex", "a",
			"[mcp_servers.a]\r\ncommand = \"x\"\r\nenabled = true # for now\r\n",
			"[mcp_servers.a]\r\ncommand = \"x\"\r\nenabled = false # for now\r\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e := Entry{File: fileOf(test.client), Scope: User, Name: test.entry}
			got, err := e.StopServer([]byte(test.before))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.after {
				t.Errorf("got\n%s\nwant\n%s", got, test.after)
			}
		})
	}
}

func TestALocalEntryIsRemovedFromItsProject(t *testing.T) {
	p := place(t, "claude-code")
	source := Read(p, File{ByName("claude-code"), User, filepath.Join(p.Home, ".claude.json")})
	data, err := load(source.Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range source.Entries {
		if e.Scope != Local {
			continue
		}
		if data, err = e.StopServer(data); err != nil {
			t.Fatal(err)
		}
	}
	text := string(data)
	if strings.Contains(text, "above-server") || strings.Contains(text, "./notes") || !strings.Contains(text, `"github"`) || !strings.Contains(text, "/somewhere/else") {
		t.Errorf("got %s", text)
	}
}

func TestWhatCannotBeEditedIsLeftToTheUser(t *testing.T) {
	inline := Entry{File: fileOf("codex"), Name: "a", Line: 1}
	if _, err := inline.StopServer([]byte(`mcp_servers = { a = { command = "x" } }`)); err == nil || !strings.Contains(err.Error(), "settings:1: write enabled = false into the table of a by hand") {
		t.Errorf("got %v", err)
	}
	if _, err := fileOf("codex").AddServer([]byte(`mcp_servers = { a = { command = "x" } }`), "ptc", "p", nil); err == nil || !strings.Contains(err.Error(), "by hand") {
		t.Errorf("got %v", err)
	}
	if _, err := fileOf("cursor").AddServer([]byte(`{"mcpServers": []}`), "ptc", "p", nil); err == nil || !strings.Contains(err.Error(), "mcpServers is no object") {
		t.Errorf("got %v", err)
	}
	if _, err := fileOf("cursor").AddServer([]byte(`{"mcpServers": `), "ptc", "p", nil); err == nil || !strings.Contains(err.Error(), "not valid JSON") {
		t.Errorf("got %v", err)
	}
}
