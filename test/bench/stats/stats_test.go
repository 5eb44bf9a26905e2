package stats

import (
	"math"
	"slices"
	"testing"
)

func TestPercentileIsTheNearestRank(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(i + 1)
	}
	for name, test := range map[string]struct {
		sorted []float64
		p      float64
		want   float64
	}{
		"the median of an odd number is the middle": {[]float64{1, 2, 3}, 50, 2},
		"the median of an even number is the lower": {[]float64{1, 2, 3, 4}, 50, 2},
		"p99 of a hundred is the last but one":      {hundred, 99, 99},
		"p90 of a hundred":                          {hundred, 90, 90},
		"p99 of a few is the largest":               {[]float64{1, 2, 3}, 99, 3},
		"p0 is the smallest":                        {[]float64{1, 2, 3}, 0, 1},
		"p100 is the largest":                       {[]float64{1, 2, 3}, 100, 3},
		"any of one is that one":                    {[]float64{7}, 1, 7},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Percentile(test.sorted, test.p); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestSummarize(t *testing.T) {
	samples := []float64{5, 1, 4, 2, 3}
	want := Summary{N: 5, Min: 1, P50: 3, P90: 5, P99: 5, Max: 5, Mean: 3}
	if got := Summarize(samples); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if !slices.Equal(samples, []float64{5, 1, 4, 2, 3}) {
		t.Errorf("the samples became %v", samples)
	}
	if got := Summarize(nil); got != (Summary{}) {
		t.Errorf("no samples make %+v", got)
	}
}

func TestFit(t *testing.T) {
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9*max(1, math.Abs(b)) }
	t.Run("a straight line is found, over any range", func(t *testing.T) {
		var points []Point
		for _, x := range []float64{10, 100, 1000, 100000} {
			points = append(points, Point{x, 3 + 0.25*x})
		}
		l, ok := Fit(points)
		if !ok || !near(l.Intercept, 3) || !near(l.Slope, 0.25) || math.Abs(l.Worst) > 1e-9 {
			t.Errorf("got %+v, %v", l, ok)
		}
	})
	t.Run("a point above the line shows where and how far", func(t *testing.T) {
		l, ok := Fit([]Point{{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 12}})
		if !ok || l.WorstX != 6 || l.Worst < 0.3 {
			t.Errorf("got %+v, %v", l, ok)
		}
	})
	t.Run("a square is no line", func(t *testing.T) {
		var points []Point
		for x := 10.0; x <= 10000; x *= 10 {
			points = append(points, Point{x, x * x})
		}
		if l, ok := Fit(points); !ok || math.Abs(l.Worst) < 0.9 {
			t.Errorf("got %+v, %v", l, ok)
		}
	})
	for name, points := range map[string][]Point{
		"no points":              nil,
		"one point":              {{1, 1}},
		"two at the same place":  {{1, 1}, {1, 2}},
		"a value that is not >0": {{1, 1}, {2, 0}},
	} {
		t.Run(name+" have no line", func(t *testing.T) {
			if l, ok := Fit(points); ok {
				t.Errorf("got %+v", l)
			}
		})
	}
}
