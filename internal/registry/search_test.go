package registry

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
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
				t.Logf("%2d %-50s want %v got %v", place, q.text, q.want, got[:min(len(got), 4)])
			}
		}
	}
	t.Logf("tuned %+v, held out %+v", tuned, heldOut)
	for name, c := range map[string]tally{"the questions it was tuned with": tuned, "those held out": heldOut} {
		if c.first*100 < c.asked*70 || c.five*100 < c.asked*88 {
			t.Errorf("%s: %d of %d first, %d in the first five", name, c.first, c.asked, c.five)
		}
	}
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
