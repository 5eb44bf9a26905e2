package registry

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
)

func TestToolPartsAreIdentifiersAndCollisionsGetSuffixes(t *testing.T) {
	for _, tt := range []struct {
		name  string
		tools []string
		want  map[string]string // original to part
	}{
		{"an identifier stays", []string{"read_file"}, map[string]string{"read_file": "read_file"}},
		{"dots, spaces, slashes and hyphens become underscores", []string{"a.b", "c d", "e/f", "g-h"},
			map[string]string{"a.b": "a_b", "c d": "c_d", "e/f": "e_f", "g-h": "g_h"}},
		{"a leading digit gets an underscore before it", []string{"2fa"}, map[string]string{"2fa": "_2fa"}},
		{"a keyword gets an underscore after it", []string{"import", "None"}, map[string]string{"import": "import_", "None": "None_"}},
		{"one underscore for each character outside ASCII", []string{"größe", "名"}, map[string]string{"größe": "gr__e", "名": "_"}},
		{"an empty name", []string{""}, map[string]string{"": "_"}},
		{"the native name wins, whatever the order", []string{"a-b", "a_b"}, map[string]string{"a_b": "a_b", "a-b": "a_b_2"}},
		{"others in the order of their names", []string{"a b", "a.b", "a-b"}, map[string]string{"a b": "a_b", "a-b": "a_b_2", "a.b": "a_b_3"}},
		{"a native name that looks like a suffix is not stolen", []string{"a-b", "a_b", "a_b_2"},
			map[string]string{"a_b": "a_b", "a_b_2": "a_b_2", "a-b": "a_b_3"}},
		{"nor one that becomes it", []string{"a-b", "a.b", "a-b-2"}, map[string]string{"a-b": "a_b", "a-b-2": "a_b_2", "a.b": "a_b_3"}},
		{"a keyword beside its own escape", []string{"class", "class_"}, map[string]string{"class_": "class_", "class": "class__2"}},
		{"of equal names the first", []string{"x", "x"}, map[string]string{"x": "x"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for range 5 {
				tools := named(tt.tools...)
				rand.Shuffle(len(tools), func(i, j int) { tools[i], tools[j] = tools[j], tools[i] })
				got := map[string]string{}
				for part, i := range toolParts(tools) {
					got[tools[i].Name] = part
				}
				if fmt.Sprint(got) != fmt.Sprint(tt.want) {
					t.Fatalf("got %v, want %v", got, tt.want)
				}
			}
		})
	}
}

func TestServerPartsNeverLetTwoServersShareACallableName(t *testing.T) {
	for _, tt := range []struct {
		name          string
		servers, want []string
	}{
		{"identifiers stay", []string{"github", "my_server"}, []string{"github", "my_server"}},
		{"names that normalise alike are kept apart", []string{"a-b", "a.b"}, []string{"a_b", "a_b_2"}},
		{"the native name wins", []string{"a-b", "a_b"}, []string{"a_b_2", "a_b"}},
		{"a suffix does not steal a native name", []string{"a-b", "a_b", "a_b_2"}, []string{"a_b_3", "a_b", "a_b_2"}},
		{"double underscores stay where they are clear", []string{"a__b", "c"}, []string{"a__b", "c"}},
		{"and give way where another server's tool could look the same", []string{"a__b", "a"}, []string{"a_b", "a"}},
		{"so does an underscore at the end", []string{"a_", "a"}, []string{"a_2", "a"}},
		{"digits and keywords", []string{"1password", "class"}, []string{"_1password", "class_"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := serverParts(tt.servers); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

var validIdentifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func FuzzEveryListedNameIsAUniqueIdentifier(f *testing.F) {
	f.Add("a\na-b\na_b", "x\nx-y\nx_y")
	f.Add("a\na_\na__b\n_", "_b\n__b\nb")
	f.Add("class\n2\n\xff", "import\nimport_\n\xfe\xff")
	f.Add(strings.Repeat("long", 100), strings.Repeat("name", 100)+"\n"+strings.Repeat("name", 101))
	f.Fuzz(func(t *testing.T, servers, tools string) {
		names := slices.Compact(slices.Sorted(strings.SplitSeq(servers, "\n")))
		if len(names) > 20 {
			names = names[:20]
		}
		list := named(strings.Split(tools, "\n")...)
		list = list[:min(len(list), 50)]
		distinct := map[string]bool{}
		for _, tool := range list {
			distinct[tool.Name] = true
		}
		var fakes []*fakeServer
		for _, n := range names {
			fakes = append(fakes, newFake(n, list...))
		}
		r := newRegistry(t, Options{}, fakes...)
		got := r.Names()
		if want := len(names) * len(distinct); len(got) != want {
			t.Errorf("%d names, want %d: %q", len(got), want, got)
		}
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("not sorted and unique: %q", got)
		}
		for _, v := range r.current.Load().views {
			for _, e := range v.tools.entries {
				for _, id := range []string{e.name, e.part, e.member.part} {
					if !validIdentifier.MatchString(id) || slices.Contains(pythonKeywords, id) || len(id) > 512 {
						t.Errorf("%q is no identifier", id)
					}
				}
				for _, spelling := range []string{e.name, callableName(v.Name(), e.Name)} {
					found, err := r.resolve(spelling)
					if err != nil {
						t.Errorf("%q is not found: %v", spelling, err)
					} else if spelling == e.name && found != e {
						t.Errorf("%q finds %q of %q", spelling, found.Name, found.member.Name())
					}
				}
			}
		}
	})
}

func TestNamesDoNotDependOnTheOrderOfConnecting(t *testing.T) {
	tools := map[string][]downstream.Tool{"a": named("b__c", "x-y", "x_y"), "a__b": named("c"), "a-": named("x"), "a_": named("x")}
	order := []string{"a__b", "a", "a-", "a_"}
	var want []string
	for range 20 {
		var fakes []*fakeServer
		for _, n := range order {
			fakes = append(fakes, newConnecting(n))
		}
		r := newRegistry(t, Options{}, fakes...)
		for _, i := range rand.Perm(len(fakes)) {
			fakes[i].up(tools[fakes[i].name]...)
		}
		if want == nil {
			want = r.Names()
		}
		if got := r.Names(); !slices.Equal(got, want) || len(got) != 6 {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}
