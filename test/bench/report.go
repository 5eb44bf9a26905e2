package main

import (
	"fmt"
	"strings"
)

// markdown is the whole report as tables.
func markdown(r report) string {
	var b strings.Builder
	b.WriteString(r.Machine.describe() + "\n")
	if r.Options.Quick {
		b.WriteString("\nA quick run, of few samples: it shows that things work, and is nothing to judge by.\n")
	}
	if r.Machine.Load > float64(r.Machine.Cores)/2 {
		b.WriteString("\n**The machine was busy with other work.** Waits of several processes suffer more from that than the floors do: what is not met here may be met on a quiet machine.\n")
	}
	for _, name := range append([]string{""}, r.Options.Sandboxes...) {
		results := r.of(name)
		if len(results) == 0 {
			continue
		}
		heading := name
		if heading == "" {
			heading = "machine"
		}
		fmt.Fprintf(&b, "\n### %s\n\n", heading)
		if r.Options.Other != "" {
			b.WriteString(comparison(results))
			continue
		}
		b.WriteString(table(results))
	}
	return b.String()
}

// of are the results of one sandbox.
func (r report) of(sandbox string) []result {
	var out []result
	for _, one := range r.Results {
		if one.Sandbox == sandbox {
			out = append(out, one)
		}
	}
	return out
}

// describe says where and when, in a sentence or two.
func (m machine) describe() string {
	parts := []string{m.Version, fmt.Sprintf("%d cores (%s)", m.Cores, orUnknown(m.CPU)), fmt.Sprintf("%d GB", m.MemGB), m.OS}
	for _, p := range []struct{ name, value string }{
		{"kernel", m.Kernel}, {"Go", strings.TrimPrefix(m.Go, "go")}, {"Python", m.Python}, {"Docker", m.Engine}, {"image", m.Image},
	} {
		if p.value != "" {
			parts = append(parts, p.name+" "+p.value)
		}
	}
	text := fmt.Sprintf("%s. %s; load at the beginning %.2f", m.Date, strings.Join(parts, ", "), m.Load)
	if m.Awake {
		text += "; processors kept from halting"
	}
	return text + "."
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown processor"
	}
	return s
}

// table has the rows with their bars, and after them those that only measure.
func table(results []result) string {
	var judged, plain strings.Builder
	for _, r := range results {
		switch {
		case r.Error != "":
			fmt.Fprintf(&judged, "| %s | %s | | | %s | |\n", r.Title, r.spread(), r.verdict())
			fmt.Fprintf(&judged, "| | | | | %s | |\n", cell(r.Error))
		case len(r.Checks) > 0:
			r.judged(&judged)
		default:
			r.plain(&plain)
		}
	}
	text := ""
	if judged.Len() > 0 {
		text = "| case | p50 / p90 / p99 | floors, p50 | bar | seen | |\n|---|---|---|---|---|---|\n" + judged.String()
	}
	if plain.Len() > 0 {
		if text != "" {
			text += "\n"
		}
		text += "| measured | p50 | p90 | p99 | samples |\n|---|---|---|---|---|\n" + plain.String()
	}
	return text + notes(results)
}

// judged writes a line for each check.
func (r *result) judged(b *strings.Builder) {
	title, spread, floors := r.Title, r.spread(), r.floors()
	for _, c := range r.Checks {
		for _, part := range []*check{&c, c.Relative} {
			if part == nil {
				continue
			}
			verdict := c.verdict()
			if part != &c {
				verdict = part.verdict()
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s %s | %s | %s |\n", title, spread, floors, part.What, part.Bar, part.Seen, verdict)
			title, spread, floors = "", "", ""
		}
	}
}

// spread is the subject's percentiles, with what they took of the machine.
func (r *result) spread() string {
	if r.Growth != nil {
		points := make([]string, 0, len(r.Growth.Points))
		for _, p := range r.Growth.Points {
			points = append(points, count(p.X)+": "+figure(p.P50, ""))
		}
		return strings.Join(points, ", ") + " " + r.Unit
	}
	s := r.subject()
	if s == nil || s.N == 0 {
		return ""
	}
	text := fmt.Sprintf("%s / %s / %s", figure(s.P50, ""), figure(s.P90, ""), figure(s.P99, r.Unit))
	if s.CPU > 0 {
		text += fmt.Sprintf("; CPU %s, %s of it the server's", figure(s.CPU, "ms"), figure(s.OwnCPU, ""))
	}
	return text + fmt.Sprintf("; n %d", s.N)
}

func (r *result) floors() string {
	var parts []string
	for _, s := range r.Series {
		if s.Kind == floorKind && s.N > 0 {
			parts = append(parts, s.Name+" "+figure(s.P50, r.unitOf(s)))
		}
	}
	return strings.Join(parts, ", ")
}

// plain writes a line for each series.
func (r *result) plain(b *strings.Builder) {
	if r.Growth != nil {
		fmt.Fprintf(b, "| %s | %s | | | |\n", r.Title, r.spread())
	}
	for _, s := range r.Series {
		unit := r.unitOf(s)
		name := s.Name
		if s.Kind == subjectKind {
			name = r.Title
			if s.Name != "ptc-mcp" {
				name += ": " + s.Name
			}
		} else {
			name = r.Title + ": " + name
		}
		if s.N == 1 {
			fmt.Fprintf(b, "| %s | %s | | | 1 |\n", name, figure(s.P50, unit))
			continue
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %d |\n", name, figure(s.P50, unit), figure(s.P90, unit), figure(s.P99, unit), s.N)
	}
}

// notes are what the rows have to say beside their figures.
func notes(results []result) string {
	var b strings.Builder
	for _, r := range results {
		if len(r.Notes) > 0 {
			fmt.Fprintf(&b, "\n- %s: %s", r.Title, strings.Join(r.Notes, "; "))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return b.String() + "\n"
}

// comparison has ptc-mcp and the other server side by side.
func comparison(results []result) string {
	var b strings.Builder
	b.WriteString("| case | ptc-mcp p50 / p99 | CPU | other p50 / p99 | CPU | other ÷ ptc-mcp |\n|---|---|---|---|---|---|\n")
	for _, r := range results {
		if r.Error != "" {
			fmt.Fprintf(&b, "| %s | **failed**: %s | | | | |\n", r.Title, cell(r.Error))
		}
		var ours, others *series
		for i := range r.Series {
			switch r.Series[i].Kind {
			case subjectKind:
				ours = &r.Series[i]
			case otherKind:
				others = &r.Series[i]
			case floorKind:
			}
		}
		if ours == nil || others == nil || ours.N == 0 || others.N == 0 {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", r.Title,
			pair(ours, r.unitOf(*ours)), processor(ours), pair(others, r.unitOf(*others)), processor(others),
			figure(others.P50/ours.P50, ""))
	}
	return b.String() + notes(results)
}

func pair(s *series, unit string) string {
	return fmt.Sprintf("%s / %s", figure(s.P50, ""), figure(s.P99, unit))
}

func processor(s *series) string {
	if s.CPU == 0 {
		return ""
	}
	return figure(s.CPU, "ms")
}

// cell makes any text fit into a table.
func cell(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 300 {
		text = text[:300] + "…"
	}
	return strings.ReplaceAll(text, "|", "\\|")
}
