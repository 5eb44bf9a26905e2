// Package stats is the arithmetic of the benchmark: what a set of samples looks
// like, and how straight a line is. It knows nothing of what was measured.
package stats

import (
	"math"
	"slices"
)

// Summary describes a set of samples, in their unit.
type Summary struct {
	N    int     `json:"n"`
	Min  float64 `json:"min"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
}

// Summarize describes the samples, which it leaves as they are. No samples make
// a zero Summary.
func Summarize(samples []float64) Summary {
	if len(samples) == 0 {
		return Summary{}
	}
	sorted := slices.Sorted(slices.Values(samples))
	var sum float64
	for _, v := range sorted {
		sum += v
	}
	return Summary{
		N:   len(sorted),
		Min: sorted[0], P50: Percentile(sorted, 50), P90: Percentile(sorted, 90), P99: Percentile(sorted, 99), Max: sorted[len(sorted)-1],
		Mean: sum / float64(len(sorted)),
	}
}

// Percentile returns the smallest of the sorted samples that p percent of them
// do not exceed (the nearest rank). There must be at least one.
func Percentile(sorted []float64, p float64) float64 {
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Median is the 50th percentile of samples in any order, 0 of none.
func Median(samples []float64) float64 { return Summarize(samples).P50 }

// Point is one measurement of a quantity that grows.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Line is the straight line that fits some points best.
type Line struct {
	Intercept float64 `json:"intercept"`
	Slope     float64 `json:"slope"`
	// Worst is the largest deviation of a point from the line, as a share of
	// what the line says, with its sign: 0.1 is a point a tenth above it.
	Worst float64 `json:"worst"`
	// WorstX is where that point is.
	WorstX float64 `json:"worst_x"`
}

// Fit finds the line with the smallest squares of relative deviations, so that
// a point at 10 counts as much as one at 100,000. It wants two or more points
// with different X and positive Y; ok is false otherwise.
func Fit(points []Point) (l Line, ok bool) {
	var w, wx, wy, wxx, wxy float64
	for _, p := range points {
		if p.Y <= 0 {
			return Line{}, false
		}
		weight := 1 / (p.Y * p.Y)
		w += weight
		wx += weight * p.X
		wy += weight * p.Y
		wxx += weight * p.X * p.X
		wxy += weight * p.X * p.Y
	}
	det := w*wxx - wx*wx
	if len(points) < 2 || det <= 1e-12*w*wxx {
		return Line{}, false
	}
	l.Slope = (w*wxy - wx*wy) / det
	l.Intercept = (wxx*wy - wx*wxy) / det
	for _, p := range points {
		on := l.Intercept + l.Slope*p.X
		if on <= 0 {
			continue // the line says nothing there
		}
		if off := p.Y/on - 1; math.Abs(off) > math.Abs(l.Worst) {
			l.Worst, l.WorstX = off, p.X
		}
	}
	return l, true
}
