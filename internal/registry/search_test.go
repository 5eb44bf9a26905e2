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

// question is one of testdata/search/questions.txt.
type question struct {
	text string
	want []string // callable names
}

func questions(t testing.TB, r *Registry) []question {
	t.Helper()
	raw, err := os.ReadFile(searchData + "questions.txt")
	if err != nil {
		t.Fatal(err)
	}
	var list []question
	for line := range strings.Lines(string(raw)) {
		text, names, ok := strings.Cut(line, " = ")
		if strings.HasPrefix(line, "#") || !ok {
			continue
		}
		q := question{text: strings.TrimSpace(text)}
		for name := range strings.SplitSeq(names, ",") {
			e, err := r.resolve(strings.TrimSpace(name))
			if err != nil {
				t.Fatal(err)
			}
			q.want = append(q.want, e.name)
		}
		list = append(list, q)
	}
	return list
}

// tally counts questions by where the first right answer stands.
type tally struct{ asked, first, five int }

func (c *tally) add(place int) {
	c.asked++
	if place == 0 {
		c.first++
	}
	if 0 <= place && place < 5 {
		c.five++
	}
}

func TestSearchAnswersQuestionsInOrdinaryLanguage(t *testing.T) {
	r := newRegistry(t, Options{}, realServers(t)...)
	var tuned, heldOut tally
	list := questions(t, r)
	for i, q := range list {
		result, err := r.Search(q.text, 10, "")
		if err != nil {
			t.Fatal(err)
		}
		place := -1
		var got []string
		for n, found := range result.Tools {
			got = append(got, strings.TrimPrefix(found.Name, "mcp__"))
			if place < 0 && slices.Contains(q.want, found.Name) {
				place = n
			}
		}
		if i%3 == 2 {
			heldOut.add(place)
		} else {
			tuned.add(place)
			if place != 0 {
				t.Logf("%q: want %q, at %d of %q", q.text, q.want, place, got)
			}
		}
	}
	t.Logf("tuned with: %+v, held out: %+v", tuned, heldOut)
	for _, part := range []struct {
		name        string
		got         tally
		first, five int // at least, of a hundred
	}{
		{"the questions it was tuned with", tuned, 75, 95},
		{"the questions held out", heldOut, 70, 84},
	} {
		if part.got.first*100 < part.got.asked*part.first || part.got.five*100 < part.got.asked*part.five {
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
