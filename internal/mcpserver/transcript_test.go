package mcpserver

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the transcripts anew")

// volatile are the parts of a message that differ from run to run.
var volatile = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`"run":"[0-9a-f]{12}"`), `"run":"RUN"`},
	{regexp.MustCompile(`("(?:[a-z]+_)?seconds"):[-0-9.e]+`), `$1:0`},
	{regexp.MustCompile(`; [0-9.]+s\]`), `; 0.0s]`},
	{regexp.MustCompile(`"progress":[0-9.]+,"message":"[^"]*"`), `"progress":0,"message":"…"`},
}

// TestTranscripts replays testdata/*.txtar. Each section holds the lines a
// client sends, then, after "---", the lines it gets back; the next line is
// sent when a request has been answered.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c := connect(t, newBench(t).Server)
			for i, section := range archive.Files {
				sent, want, _ := strings.Cut(string(section.Data), "---\n")
				got := c.replay(sent)
				archive.Files[i].Data = []byte(sent + "---\n" + got)
				if got != want && !*update {
					t.Errorf("%s:\n got %s\nwant %s", section.Name, got, want)
				}
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// replay sends lines and returns what comes back. How many progress
// notifications a call gets depends on the time it takes; one stands for all.
func (c *client) replay(lines string) string {
	var got strings.Builder
	var last string
	for line := range strings.Lines(lines) {
		line = strings.TrimSuffix(line, "\n")
		c.send("%s", line)
		var request struct {
			ID json.RawMessage `json:"id"`
		}
		if json.Unmarshal([]byte(line), &request) != nil || request.ID == nil {
			continue
		}
		for {
			answer := c.line()
			for _, v := range volatile {
				answer = v.pattern.ReplaceAllString(answer, v.with)
			}
			if answer != last {
				got.WriteString(answer + "\n")
			}
			last = answer
			var response message
			if err := json.Unmarshal([]byte(answer), &response); err != nil {
				c.t.Fatal(err)
			}
			if bytes.Equal(response.ID, request.ID) {
				break
			}
		}
	}
	return got.String()
}
