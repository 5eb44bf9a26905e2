package registry

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

func TestAToolIsFoundByEverySpelling(t *testing.T) {
	r := newRegistry(t, Options{},
		newFake("my-server", named("get-user", "get_user", "list.all", "import")...),
		newFake("other", named("get_user", "only here")...),
	)
	for spelling, want := range map[string]string{
		"mcp__my_server__get_user":   "mcp__my_server__get_user",
		"mcp__my_server__get_user_2": "mcp__my_server__get_user_2",
		"mcp__my-server__get-user":   "mcp__my_server__get_user_2",
		"mcp__my-server__get_user":   "mcp__my_server__get_user",
		"mcp--my-server--get_user":   "mcp__my_server__get_user",
		"mcp__my_server__get-user":   "mcp__my_server__get_user_2",
		"my-server.get-user":         "mcp__my_server__get_user_2",
		"my_server.list.all":         "mcp__my_server__list_all",
		"my-server/list-all":         "mcp__my_server__list_all",
		"my server: list all":        "mcp__my_server__list_all",
		"my.server.list_all":         "mcp__my_server__list_all",
		"mcp__my_server__import":     "mcp__my_server__import_",
		"my-server__import":          "mcp__my_server__import_",
		"only here":                  "mcp__other__only_here",
		"only-here":                  "mcp__other__only_here",
		"get_user":                   "", // two servers have it
		"mcp__other__list_all":       "",
		"":                           "",
		"mcp__":                      "",
	} {
		e, err := r.resolve(spelling)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q found %s", spelling, e.name)
		case want != "" && (err != nil || e.name != want):
			t.Errorf("%q: got %v, %v, want %s", spelling, e, err, want)
		}
	}
}

func TestAnUnknownNameIsAnsweredWithTheNearest(t *testing.T) {
	r := newRegistry(t, Options{},
		newFake("github", named("list_issues", "create_issue", "get_repository")...),
		newFake("files", named("read_text_file", "write_file")...))
	for unknown, want := range map[string]string{
		"mcp__github__list_isues":  "mcp__github__list_issues",
		"mcp__github__listIssues":  "mcp__github__list_issues",
		"mcp__files__read_file":    "mcp__files__read_text_file",
		"mcp__gitlab__list_issues": "mcp__github__list_issues",
		"create_isue":              "mcp__github__create_issue",
		"mcp__fs__write_file":      "mcp__files__write_file",
	} {
		_, err := r.Inspect(unknown)
		var te *tool.Error
		if !errors.As(err, &te) || te.Kind != tool.KindUnknown {
			t.Errorf("%s: %v", unknown, err)
			continue
		}
		if !strings.HasPrefix(te.Message, unknown+": ") || !strings.Contains(te.Message, "did you mean "+want) {
			t.Errorf("%s: %s", unknown, te.Message)
		}
	}
	_, err := r.Inspect("mcp__nothing__of_the_kind_at_all")
	if err == nil || !strings.Contains(err.Error(), "list_callable_tools()") {
		t.Errorf("got %v", err)
	}
	_, err = r.Inspect(strings.Repeat("x", 1<<20))
	if err == nil || len(err.Error()) > 2000 {
		t.Errorf("message of %d bytes", len(err.Error()))
	}
}

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		pattern, s string
		want       bool
	}{
		{"*", "", true}, {"*", "abc", true}, {"a*c", "abbc", true}, {"a*c", "abbd", false}, {"a?c", "abc", true}, {"a?c", "ac", false},
		{"mcp__github__*", "mcp__github__list", true}, {"mcp__github__*", "mcp__gitlab__list", false},
		{"*a*b*", "xxaxxbxx", true}, {"*ab", "aab", true}, {"[a]", "a", false}, {"[a]", "[a]", true}, {"A", "a", false}, {"abc", "abcd", false},
		{"", "", true}, {"", "a", false}, {"**", "", true}, {"?", "", false},
		{strings.Repeat("a*", 50) + "b", strings.Repeat("a", 500), false},
	} {
		if got := glob(tt.pattern, tt.s); got != tt.want {
			t.Errorf("glob(%q, %q) = %v", tt.pattern, tt.s, got)
		}
	}
}

func TestAllowAndBlockDecideWhatIsListedAndCallable(t *testing.T) {
	tools := named("read", "write", "delete-all")
	for _, tt := range []struct {
		name string
		opts Options
		want []string
	}{
		{"everything by default", Options{}, []string{"mcp__my_fs__delete_all", "mcp__my_fs__read", "mcp__my_fs__write"}},
		{"allow", Options{Allow: []string{"mcp__my_fs__r*", "mcp__other__*"}}, []string{"mcp__my_fs__read"}},
		{"block", Options{Block: []string{"*__delete*"}}, []string{"mcp__my_fs__read", "mcp__my_fs__write"}},
		{"a pattern in the original spelling", Options{Block: []string{"mcp__my-fs__delete-all"}}, []string{"mcp__my_fs__read", "mcp__my_fs__write"}},
		{"case matters", Options{Allow: []string{"mcp__my_fs__READ"}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRegistry(t, tt.opts, newFake("my-fs", tools...).answers(`{"content":[]}`))
			if got := r.Names(); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			for _, name := range []string{"mcp__my_fs__read", "mcp__my_fs__write", "mcp__my_fs__delete_all", "mcp__my-fs__delete-all"} {
				_, err := r.CallTool(t.Context(), name, nil)
				listed := slices.Contains(tt.want, fold(name))
				if (err == nil) != listed {
					t.Errorf("%s: listed %v, call gave %v", name, listed, err)
				}
			}
		})
	}
	if _, err := New(nil, Options{Allow: []string{"a"}, Block: []string{"b"}}); err == nil {
		t.Error("allow and block together were accepted")
	}
	if _, err := New([]Server{newFake("a"), newFake("a")}, Options{}); err == nil {
		t.Error("two servers of one name were accepted")
	}
}
