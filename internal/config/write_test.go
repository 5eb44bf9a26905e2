package config

import (
	"strings"
	"testing"
)

func TestServersAreAddedToAFileThatIsOtherwiseLeftAlone(t *testing.T) {
	added := NewServer("new")
	added.Transport, added.Command = Stdio, "npx"
	added.Args = []string{"-y", "server", "${HOME}/data", "on", "8080"}
	added.Env = map[string]string{"TOKEN": "${TOKEN}", "A": "multi\nline"}
	const entry = `- name: new
  command: npx
  args: [-y, server, '${HOME}/data', on, "8080"]
  env:
    A: "multi\nline"
    TOKEN: ${TOKEN}
`
	entryBy := func(spaces string) string {
		var b strings.Builder
		for line := range strings.Lines(entry) {
			b.WriteString(spaces + line)
		}
		return b.String()
	}
	tests := map[string]struct{ before, after string }{
		"an empty file": {"", newFileHeader + "servers:\n" + entryBy("  ")},
		"a list": {
			"# mine\nservers:\n  - name: a   # the first\n    command: b\n\n  # the end of the list\n\n# tools\ntools: {}\n",
			"# mine\nservers:\n  - name: a   # the first\n    command: b\n" + entryBy("  ") + "\n  # the end of the list\n\n# tools\ntools: {}\n",
		},
		"a list at the margin, and no newline at the end": {
			"execution:\n  max_tool_calls: 5\nservers:\n- name: a\n  command: b",
			"execution:\n  max_tool_calls: 5\nservers:\n- name: a\n  command: b\n" + entry,
		},
		"no servers": {
			"tools: {block: [\"mcp__a__*\"]} # none of these\n",
			"tools: {block: [\"mcp__a__*\"]} # none of these\n\nservers:\n" + entryBy("  "),
		},
		"only comments":     {"# nothing yet\n", "# nothing yet\n\nservers:\n" + entryBy("  ")},
		"an empty list":     {"servers: [] # none\n#  - name: x\ntools: {}\n", "servers: # none\n" + entryBy("  ") + "#  - name: x\ntools: {}\n"},
		"a key without any": {"servers:\ntools: {}\n", "servers:\n" + entryBy("  ") + "tools: {}\n"},
		"a list in brackets is laid out anew, with its comments": {
			"servers: [{name: a, command: b}]  # short\n",
			"# short\nservers:\n  - {name: a, command: b}\n" + entryBy("  "),
		},
		"lines that end as on Windows": {
			"servers:\r\n  - name: a\r\n    command: b\r\ntools: {}\r\n",
			"servers:\r\n  - name: a\r\n    command: b\r\n" + strings.ReplaceAll(entryBy("  "), "\n", "\r\n") + "tools: {}\r\n",
		},
		"a text that ends with what looks like a comment": {
			"servers:\n  - name: a\n    command: b\n    env:\n      T: |\n        x\n        # y\ntools: {}\n",
			"servers:\n  - name: a\n    command: b\n    env:\n      T: |\n        x\n        # y\n" + entryBy("  ") + "tools: {}\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := AddServers([]byte(test.before), []Server{added})
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.after {
				t.Errorf("got\n%s\nwant\n%s", got, test.after)
			}
			if _, err := parse("x.yaml", got, func(string) (string, bool) { return "v", true }); err != nil {
				t.Errorf("cannot be loaded: %v", err)
			}
		})
	}
}

func TestResolveSpeaksOfTheEntryAlone(t *testing.T) {
	server := NewServer("crm")
	server.Transport, server.URL = HTTP, "https://crm.example.com/${PTC_TEST_BIN}"
	server.Headers = map[string]string{"A": "${UNSET_ONE}", "B": "$${x} ${UNSET_TWO:-two}"}
	if _, err := Resolve(server, lookup); err == nil || err.Error() != `headers.A: server "crm": variable UNSET_ONE is not set; set it, or give a default: ${UNSET_ONE:-default}` {
		t.Errorf("got %v", err)
	}
	if got := strings.Join(Unset(server, lookup), ","); got != "UNSET_ONE" {
		t.Errorf("unset are %s", got)
	}
	server.Headers["A"] = "a"
	got, err := Resolve(server, lookup)
	if err != nil || got.URL != "https://crm.example.com//opt/bin" || got.Headers["B"] != "${x} two" || got.ListTimeoutSeconds != 30 {
		t.Errorf("got %+v, %v", got, err)
	}
}
