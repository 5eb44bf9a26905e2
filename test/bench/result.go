package main

import (
	"fmt"
	"strings"

	"github.com/ptc-mcp/ptc-mcp/test/bench/stats"
)

// report is everything that one invocation measured.
type report struct {
	Machine machine  `json:"machine"`
	Options settings `json:"settings"`
	Results []result `json:"results"`
}

// result is what one row measured in one sandbox.
type result struct {
	Row     string `json:"row"`
	Title   string `json:"title"`
	Sandbox string `json:"sandbox"` // empty: of the machine
	Unit    string `json:"unit"`
	// Series are the samples, those of ptc-mcp first.
	Series []series `json:"series,omitempty"`
	// Growth is set by rows about how a cost grows.
	Growth *growth  `json:"growth,omitempty"`
	Checks []check  `json:"checks,omitempty"`
	Notes  []string `json:"notes,omitempty"`
	// Error says why the row was not measured, or not to its end.
	Error   string  `json:"error,omitempty"`
	Seconds float64 `json:"seconds"`
}

// series are the samples of one thing.
type series struct {
	Name string `json:"name"`
	Kind kind   `json:"kind"`
	// Unit is set when it is not the row's.
	Unit string `json:"unit,omitempty"`
	stats.Summary
	// CPU is the processor time of one sample in ms, of the server and all
	// below it, refilling the pool included.
	CPU float64 `json:"cpu_ms,omitempty"`
	// OwnCPU is the server's own part of that.
	OwnCPU float64 `json:"own_cpu_ms,omitempty"`
	// PeakMB is the most memory that the server held meanwhile.
	PeakMB float64 `json:"peak_mb,omitempty"`
}

// kind says what a series is of.
type kind string

const (
	subjectKind kind = "subject"
	otherKind   kind = "other" // what the subject is compared with
	floorKind   kind = "floor"
)

// growth is how the cost of something grows.
type growth struct {
	Of     string        `json:"of"` // what X counts
	Points []growthPoint `json:"points"`
	Line   *stats.Line   `json:"line,omitempty"`
}

type growthPoint struct {
	X float64 `json:"x"`
	stats.Summary
}

// check is one bar, and what was seen.
type check struct {
	What string `json:"what"`
	Bar  string `json:"bar"`
	Seen string `json:"seen"`
	Met  bool   `json:"met"`
	// Relative judges the same by this machine's own speed, where the bar is
	// one of absolute time.
	Relative *check `json:"relative,omitempty"`
}

// verdict is the check in a word.
func (c check) verdict() string {
	switch {
	case c.Met:
		return "met"
	case c.Relative != nil && c.Relative.Met:
		return "met as a ratio"
	}
	return "**not met**"
}

// verdict is that of all checks together; empty without any.
func (r result) verdict() string {
	if r.Error != "" {
		return "**failed**"
	}
	words := make([]string, 0, len(r.Checks))
	for _, c := range r.Checks {
		words = append(words, c.verdict())
	}
	return strings.Join(words, "; ")
}

// find returns the series of a name.
func (r *result) find(name string) *series {
	for i := range r.Series {
		if r.Series[i].Name == name {
			return &r.Series[i]
		}
	}
	return nil
}

// subject is the series of ptc-mcp.
func (r *result) subject() *series {
	for i := range r.Series {
		if r.Series[i].Kind == subjectKind {
			return &r.Series[i]
		}
	}
	return nil
}

func (r *result) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}
