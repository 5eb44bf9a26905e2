package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ptc-mcp/ptc-mcp/test/bench/chart"
)

// The measured part of a page is between these lines; the rest is written by
// hand.
const (
	pageBegin = "<!-- measured: begin; make bench-full writes what is between -->\n"
	pageEnd   = "<!-- measured: end -->\n"
)

// renewPage puts a report into a page, and its charts into the folder that has
// the page's name without its ending.
func renewPage(file string, r report) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(page), pageBegin)
	_, after, closed := strings.Cut(rest, pageEnd)
	if !found || !closed {
		return fmt.Errorf("%s: no lines %q and %q to write between", file, strings.TrimSpace(pageBegin), strings.TrimSpace(pageEnd))
	}
	folder := strings.TrimSuffix(file, filepath.Ext(file))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	var images strings.Builder
	var errs []error
	for _, c := range charts(r) {
		name := c.file + ".svg"
		errs = append(errs, os.WriteFile(filepath.Join(folder, name), []byte(c.SVG()), 0o644))
		fmt.Fprintf(&images, "\n![%s](%s/%s)\n", c.Title, filepath.Base(folder), name)
	}
	text := before + pageBegin + "\n" + markdown(r) + images.String() + "\n" + pageEnd + after
	return errors.Join(append(errs, os.WriteFile(file, []byte(text), 0o644))...)
}

type namedChart struct {
	file string
	chart.Chart
}

// charts draws a chart for each growth that was measured, with a line for each
// sandbox.
func charts(r report) []namedChart {
	var out []namedChart
	for _, row := range sandboxRows {
		c := namedChart{file: strings.TrimPrefix(row.name, "growth-")}
		for _, res := range r.Results {
			if res.Row != row.name || res.Growth == nil || len(res.Growth.Points) < 2 {
				continue
			}
			c.Title, c.X, c.Y = res.Title, res.Growth.Of, res.Unit
			if c.X == "bytes" {
				c.Ticks = bytesTick
			}
			line := chart.Line{Name: res.Sandbox}
			for _, p := range res.Growth.Points {
				if p.X > 0 && p.P50 > 0 {
					line.Points = append(line.Points, chart.Point{X: p.X, Y: p.P50})
				}
			}
			c.Lines = append(c.Lines, line)
		}
		if len(c.Lines) > 0 {
			out = append(out, c)
		}
	}
	if c := latencies(r); len(c.Lines) > 0 {
		out = append([]namedChart{c}, out...)
	}
	return out
}

// latencies draws the percentiles of a small program, warm and cold.
func latencies(r report) namedChart {
	c := namedChart{"latency", chart.Chart{Title: "print(1): how many of the runs take at most how long", X: "percent of the runs", Y: "ms", XTicks: []float64{50, 90, 99}}}
	for _, row := range []struct{ name, word string }{{"print-warm", "warm"}, {"print-cold", "cold"}} {
		for _, res := range r.Results {
			s := res.subject()
			if res.Row != row.name || s == nil || s.N == 0 {
				continue
			}
			c.Lines = append(c.Lines, chart.Line{
				Name: res.Sandbox + ", " + row.word, Dashed: row.word == "cold",
				Points: []chart.Point{{X: 50, Y: s.P50}, {X: 90, Y: s.P90}, {X: 99, Y: s.P99}},
			})
		}
	}
	return c
}

func bytesTick(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if v >= unit.size {
			return fmt.Sprintf("%g %s", v/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%g B", v)
}
