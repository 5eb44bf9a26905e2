package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func sample() Chart {
	return Chart{Title: "calls <&>", X: "calls", Y: "ms", Lines: []Line{
		{Name: "docker", Points: []Point{{10, 3}, {1000, 250}, {100000, 26000}}},
		{Name: "native", Dashed: true, Points: []Point{{10, 1}, {100000, 9000}}},
	}}
}

func TestTheChartIsWellFormedAndInItsFrame(t *testing.T) {
	decoder := xml.NewDecoder(strings.NewReader(sample().SVG()))
	circles := 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "circle" {
			circles++
		}
	}
	if circles != 5 {
		t.Errorf("%d points drawn of 5", circles)
	}
}

func TestAxes(t *testing.T) {
	x, y := sample().axes()
	if x.at(10) != left || x.at(100000) != width-right {
		t.Errorf("x from %v to %v", x.at(10), x.at(100000))
	}
	for _, v := range []float64{1, 26000} {
		if at := y.at(v); at < top || at > height-bottom {
			t.Errorf("%v is drawn at %v, outside", v, at)
		}
	}
	if y.at(1) <= y.at(26000) {
		t.Error("more is not higher")
	}
	for name, c := range map[string]Chart{"no lines": {}, "one point": {Lines: []Line{{Points: []Point{{5, 5}}}}}} {
		if svg := c.SVG(); strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("%s: %s", name, svg)
		}
	}
}

func TestTicksAreRoundNumbersAndEnoughOfThem(t *testing.T) {
	for _, a := range []axis{{low: 1, high: 1e6}, {low: 50, high: 99}, {low: 3, high: 40}} {
		ticks := a.ticks()
		if len(ticks) == 0 || len(ticks) > 12 {
			t.Errorf("%v to %v: %v", a.low, a.high, ticks)
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0.1: "0.1", 10: "10", 1000: "1k", 2e6: "2M"} {
		if got := number(v); got != want {
			t.Errorf("%v is written %s, want %s", v, got, want)
		}
	}
}
