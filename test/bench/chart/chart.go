// Package chart draws small charts as SVG, legible on a light and on a dark
// page. It knows nothing of what the figures mean.
package chart

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Chart is a chart of lines over two logarithmic axes.
type Chart struct {
	Title, X, Y string
	Lines       []Line
	// XTicks are the marked values of the X axis; nil leaves the choice open.
	XTicks []float64
	// Ticks writes a value of the X axis; nil writes plain numbers.
	Ticks func(float64) string
}

// Line is one line; both coordinates of its points must be above zero.
type Line struct {
	Name   string
	Points []Point
	// Dashed is for what the others are compared with.
	Dashed bool
}

// Point is one point.
type Point struct{ X, Y float64 }

const (
	width, height            = 720.0, 400.0
	left, right, top, bottom = 70.0, 20.0, 44.0, 52.0
	legendStep               = 18.0
)

// colours that keep apart for most eyes, on white and on near black.
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#6a51a3"}

const style = `<style>
text{font:12px system-ui,sans-serif;fill:#24292f}.title{font-size:14px;font-weight:600}
.grid{stroke:#d0d7de;stroke-width:1}.line{fill:none;stroke-width:2}
@media (prefers-color-scheme:dark){text{fill:#d1d7e0}.grid{stroke:#3d444d}}
</style>
`

// SVG draws the chart.
func (c Chart) SVG() string {
	x, y := c.axes()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n%s", html.EscapeString(c.Title), style)
	text(&b, left, 22, "start", "title", c.Title)
	marks := c.XTicks
	if marks == nil {
		marks = x.ticks()
	}
	for _, v := range marks {
		at := x.at(v)
		grid(&b, at, top, at, height-bottom)
		label := number(v)
		if c.Ticks != nil {
			label = c.Ticks(v)
		}
		text(&b, at, height-bottom+18, "middle", "", label)
	}
	for _, v := range y.ticks() {
		at := y.at(v)
		grid(&b, left, at, width-right, at)
		text(&b, left-8, at+4, "end", "", number(v))
	}
	text(&b, (left+width-right)/2, height-14, "middle", "", c.X)
	fmt.Fprintf(&b, `<text transform="translate(16 %.1f) rotate(-90)" text-anchor="middle">%s</text>`+"\n", (top+height-bottom)/2, html.EscapeString(c.Y))
	for i, l := range c.Lines {
		colour, dash := colours[i%len(colours)], ""
		if l.Dashed {
			dash = ` stroke-dasharray="5 4"`
		}
		points := make([]string, 0, len(l.Points))
		for _, p := range l.Points {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x.at(p.X), y.at(p.Y)))
		}
		fmt.Fprintf(&b, `<polyline class="line" stroke="%s"%s points="%s"/>`+"\n", colour, dash, strings.Join(points, " "))
		for _, p := range points {
			cx, cy, _ := strings.Cut(p, ",")
			fmt.Fprintf(&b, `<circle cx="%s" cy="%s" r="3" fill="%s"/>`+"\n", cx, cy, colour)
		}
		at := top + 12 + legendStep*float64(i)
		fmt.Fprintf(&b, `<path class="line" stroke="%s"%s d="M%.1f %.1fh22"/>`+"\n", colour, dash, left+12, at-4)
		text(&b, left+42, at, "start", "", l.Name)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func text(b *strings.Builder, x, y float64, anchor, class, content string) {
	if class != "" {
		class = fmt.Sprintf(` class="%s"`, class)
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>`+"\n", x, y, anchor, class, html.EscapeString(content))
}

func grid(b *strings.Builder, x1, y1, x2, y2 float64) {
	fmt.Fprintf(b, `<path class="grid" d="M%.1f %.1fL%.1f %.1f"/>`+"\n", x1, y1, x2, y2)
}

// axis maps values between two powers to pixels.
type axis struct {
	low, high  float64
	begin, end float64
}

// axes have room for all points, and above the highest for the legend.
func (c Chart) axes() (x, y axis) {
	x = axis{math.Inf(1), 0, left, width - right}
	y = axis{math.Inf(1), 0, height - bottom, top}
	for _, l := range c.Lines {
		for _, p := range l.Points {
			x.low, x.high = min(x.low, p.X), max(x.high, p.X)
			y.low, y.high = min(y.low, p.Y), max(y.high, p.Y)
		}
	}
	if math.IsInf(x.low, 1) {
		x.low, x.high, y.low, y.high = 1, 10, 1, 10
	}
	if x.low == x.high {
		x.low, x.high = x.low/2, x.high*2
	}
	y.low = math.Pow(10, math.Floor(math.Log10(y.low)))
	y.high = math.Pow(10, math.Ceil(math.Log10(y.high)+0.3))
	return x, y
}

func (a axis) at(v float64) float64 {
	return a.begin + (a.end-a.begin)*math.Log(v/a.low)/math.Log(a.high/a.low)
}

// ticks are the powers of ten in the axis, and twos and fives between them when
// there are few.
func (a axis) ticks() []float64 {
	var out []float64
	for _, between := range [][]float64{{1}, {1, 2, 5}} {
		out = nil
		for e := math.Floor(math.Log10(a.low)); e <= math.Ceil(math.Log10(a.high)); e++ {
			for _, m := range between {
				if v := m * math.Pow(10, e); v >= a.low*0.999 && v <= a.high*1.001 {
					out = append(out, v)
				}
			}
		}
		if len(out) >= 4 {
			break
		}
	}
	return out
}

// number writes 0.1, 10, 1k, 10M.
func number(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%gk", v/1e3)
	}
	return fmt.Sprintf("%.4g", v)
}
