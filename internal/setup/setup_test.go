package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/internal/config"
	"github.com/ptc-mcp/ptc-mcp/internal/config/clients"
)

func TestWhatLooksLikeASecret(t *testing.T) {
	tests := []struct {
		name, value string
		want        bool
	}{
		{"GITHUB_TOKEN", "ghp_0123456789", true},
		{"ANYTHING", "sk-0123456789", true},
		{"DB_PASSWORD", "letmein", true},
		{"OPENAI_API_KEY", "whatever-it-is", true},
		{"X-Api-Key", "abcdefgh", true},
		{"SESSION_COOKIE", "abcdefgh", true},
		{"GITHUB_TOKEN", "${GITHUB_TOKEN}", false},
		{"GITHUB_TOKEN", "", false},
		{"MAX_TOKENS", "4096000", false},
		{"TOKEN_FILE", "/run/secrets/token", false},
		{"USE_TOKEN", "false", false},
		{"LOG_LEVEL", "debugging", false},
		{"AUTHOR", "somebody", false},
		{"GITHUB_TOKEN", "$${literal-token}", true},
	}
	for _, test := range tests {
		if got := looksSecret(test.name, test.value); got != test.want {
			t.Errorf("%s=%s: %t, want %t", test.name, test.value, got, test.want)
		}
	}
}

func TestSecretsAreReplacedInACopy(t *testing.T) {
	s := config.NewServer("my db")
	s.Args = []string{"--url", "postgres://u:password@h/d", "--token=abcdefgh", "/path"}
	s.Env = map[string]string{"API_KEY": "abcdefgh", "HOME": "/h"}
	s.Auth.ClientSecret = "abcdefgh"
	found := secrets(s)
	if len(found) != 4 {
		t.Fatalf("found %+v", found)
	}
	got := withVariables(s, found)
	if strings.Join(got.Args, " ") != "--url ${MY_DB_URL} --token=${MY_DB_TOKEN} /path" || got.Env["API_KEY"] != "${API_KEY}" || got.Env["HOME"] != "/h" || got.Auth.ClientSecret != "${MY_DB_CLIENT_SECRET}" {
		t.Errorf("got %v, %v", got.Args, got.Env)
	}
	if s.Args[1] != "postgres://u:password@h/d" || s.Env["API_KEY"] != "abcdefgh" {
		t.Errorf("the original was changed: %v, %v", s.Args, s.Env)
	}
}

func TestAFileThatChangedMeanwhileIsNotOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := &Plan{Changes: []Change{{Path: path, Before: []byte("old"), After: []byte("mine"), written: []byte("mine")}}}
	done, err := plan.Apply(t.Context(), time.Now())
	if err == nil || !strings.Contains(err.Error(), "has changed in the meantime") || len(done) != 0 {
		t.Errorf("got %v, %v", done, err)
	}
	if data, _ := os.ReadFile(path); string(data) != "new" {
		t.Errorf("the file holds %s", data)
	}
}

func TestBackupsHaveNamesOfTheirOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first, err := backup(path, []byte("a"), 0o600, now)
	if err != nil || first != path+".backup-20260102-030405" {
		t.Errorf("got %s, %v", first, err)
	}
	second, err := backup(path, []byte("b"), 0o600, now)
	if err != nil || second != first+"-2" {
		t.Errorf("got %s, %v", second, err)
	}
}

func TestTheEntryThatAStoppedOneHasHiddenIsNamed(t *testing.T) {
	home := t.TempDir()
	text := `{"mcpServers": {"db": {"command": "old-db"}},
 "projects": {"` + filepath.ToSlash(home) + `": {"mcpServers": {"db": {"command": "new-db"}}}}}`
	if err := os.WriteFile(filepath.Join(home, ".claude.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	claude := clients.ByName("claude-code")
	place := clients.Place{OS: "linux", Home: home, Folder: home, Getenv: func(string) string { return "" }}
	found, err := Find(place, []*clients.Client{claude}, filepath.Join(home, "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Make(place, found, Options{Take: []int{0}, Register: []*clients.Client{claude}, Command: "ptc-mcp", TakeOver: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Taken) != 1 || plan.Taken[0].Server.Command != "new-db" {
		t.Fatalf("took %+v", plan.Taken)
	}
	if notes := strings.Join(plan.Notes, "\n"); !strings.Contains(notes, "(user) was hidden by the one that is stopped, and Claude Code uses it from now on") {
		t.Errorf("notes:\n%s", notes)
	}
}
