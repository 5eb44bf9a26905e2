package registry

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/search"
)

const searchData = "testdata/search/"

// realServers returns the tool lists of testdata/search/servers.
func realServers(t testing.TB) []*fakeServer {
	t.Helper()
	files, err := filepath.Glob(searchData + "servers/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d tool lists, %v", len(files), err)
	}
	var servers []*fakeServer
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list struct {
			Tools []struct {
				Name, Title, Description string
				InputSchema              json.RawMessage
			}
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		tools := make([]downstream.Tool, len(list.Tools))
		for i, l := range list.Tools {
			tools[i] = downstream.Tool{Name: l.Name, Title: l.Title, Description: l.Description, InputSchema: l.InputSchema}
		}
		servers = append(servers, newFake(strings.TrimSuffix(filepath.Base(file), ".json"), tools...))
	}
	return servers
}

// question is one of the questions in testdata/search.
type question struct {
	text string
	want []string // callable names
}

// questions returns those of a file, a line "text = tools".
func questions(t testing.TB, r *Registry, file string) []question {
	t.Helper()
	raw, err := os.ReadFile(searchData + file)
	if err != nil {
		t.Fatal(err)
	}
	var list []question
	for line := range strings.Lines(string(raw)) {
		if text, names, ok := strings.Cut(line, " = "); ok && !strings.HasPrefix(line, "#") {
			list = append(list, newQuestion(t, r, text, strings.Split(names, ",")))
		}
	}
	return list
}

func newQuestion(t testing.TB, r *Registry, text string, names []string) question {
	t.Helper()
	q := question{text: strings.TrimSpace(text)}
	for _, name := range names {
		e, err := r.resolve(strings.TrimSpace(name))
		if err != nil {
			t.Fatal(err)
		}
		q.want = append(q.want, e.name)
	}
	return q
}

// invented returns a registry of the tools in testdata/search/invented.txt, and
// the questions about them.
func invented(t testing.TB) (*Registry, []question) {
	t.Helper()
	raw, err := os.ReadFile(searchData + "invented.txt")
	if err != nil {
		t.Fatal(err)
	}
	var servers []*fakeServer
	var asked [][2]string // text, tools
	for block := range strings.SplitSeq(string(raw), "\n## ") {
		server, lines, _ := strings.Cut(block, "\n")
		var tools []downstream.Tool
		for line := range strings.Lines(lines) {
			if text, ok := strings.CutPrefix(line, "? "); ok {
				text, tool, _ := strings.Cut(text, " = ")
				asked = append(asked, [2]string{text, server + "." + tool})
			} else if parts := strings.Split(line, "|"); len(parts) == 3 {
				properties := map[string]any{}
				for _, p := range strings.Fields(parts[2]) {
					properties[p] = map[string]any{}
				}
				schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
				if err != nil {
					t.Fatal(err)
				}
				tools = append(tools, downstream.Tool{Name: strings.TrimSpace(parts[0]), Description: strings.TrimSpace(parts[1]), InputSchema: schema})
			}
		}
		if tools != nil {
			servers = append(servers, newFake(server, tools...))
		}
	}
	r := newRegistry(t, Options{}, servers...)
	var list []question
	for _, a := range asked {
		list = append(list, newQuestion(t, r, a[0], []string{a[1]}))
	}
	return r, list
}

// tally counts questions by where the first right answer stands.
type tally struct{ asked, first, five int }

func (c *tally) add(o tally) { *c = tally{c.asked + o.asked, c.first + o.first, c.five + o.five} }

// reaches reports whether at least so many of a hundred are right.
func (c *tally) reaches(first, five int) bool {
	return c.asked > 0 && c.first*100 >= c.asked*first && c.five*100 >= c.asked*five
}

// ask searches for what a question asks. Misses are logged if that is wanted.
func ask(t *testing.T, r *Registry, q question, log bool) tally {
	t.Helper()
	result, err := r.Search(q.text, 5, "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, found := range result.Tools {
		got = append(got, found.Name)
	}
	place := slices.IndexFunc(got, func(name string) bool { return slices.Contains(q.want, name) })
	switch {
	case place == 0:
		return tally{1, 1, 1}
	case log:
		t.Logf("%q: want %q, got %q", q.text, q.want, got)
	}
	if place > 0 {
		return tally{1, 0, 1}
	}
	return tally{1, 0, 0}
}

func TestSearchAnswersQuestionsInOrdinaryLanguage(t *testing.T) {
	r := newRegistry(t, Options{}, realServers(t)...)
	var all, heldOut, practice, fresh, other tally
	for i, q := range questions(t, r, "questions.txt") {
		held := i%3 == 2
		found := ask(t, r, q, !held)
		all.add(found)
		if held {
			heldOut.add(found)
		}
	}
	for _, q := range questions(t, r, "practice.txt") {
		practice.add(ask(t, r, q, true))
	}
	for _, q := range questions(t, r, "fresh.txt") {
		fresh.add(ask(t, r, q, false))
	}
	others, list := invented(t)
	for _, q := range list {
		other.add(ask(t, others, q, true))
	}
	for _, part := range []struct {
		name        string
		got         tally
		first, five int // at least, of a hundred
	}{
		{"all first questions", all, 90, 98},
		{"those held out", heldOut, 82, 96},
		{"questions to practise with", practice, 80, 96},
		{"fresh questions", fresh, 67, 88},
		{"questions about invented servers", other, 76, 95},
	} {
		t.Logf("%s: %+v", part.name, part.got)
		if !part.got.reaches(part.first, part.five) {
			t.Errorf("%s: %d of %d first, %d in the first five", part.name, part.got.first, part.got.asked, part.got.five)
		}
	}
}

// indexSize is the memory that the indexes of all servers hold, in bytes.
func indexSize(r *Registry) float64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var parts []*search.Part
	for _, v := range r.current.Load().views {
		parts = append(parts, newPart(v.tools.entries))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(parts)
	return float64(after.HeapAlloc) - float64(before.HeapAlloc)
}

func BenchmarkSearchAmong5000Tools(b *testing.B) {
	var servers []*fakeServer
	real := realServers(b)
	for n := 0; len(servers)*17 < 5000; n++ {
		s := real[n%len(real)]
		servers = append(servers, newFake(s.name+strconv.Itoa(n), s.Status().Tools...))
	}
	r := newRegistry(b, Options{}, servers...)
	b.Run("index", func(b *testing.B) {
		tools := 0
		for b.Loop() {
			for _, v := range r.current.Load().views {
				newPart(v.tools.entries)
			}
		}
		for _, v := range r.current.Load().views {
			tools += len(v.tools.entries)
		}
		b.ReportMetric(float64(tools), "tools")
		b.ReportMetric(indexSize(r)/1e6, "MB-held")
	})
	for _, query := range []string{"make a new folder", "opne isues of a repositroy", "create_issue"} {
		b.Run(query, func(b *testing.B) {
			for b.Loop() {
				if _, err := r.Search(query, 10, ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
