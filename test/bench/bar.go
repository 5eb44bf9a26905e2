package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/ptc-mcp/ptc-mcp/test/bench/stats"
)

// reference is the machine on which the bars of absolute time were set: what
// its floor was there, in the row's unit. A slower machine is judged by the same
// ratio.
type reference struct {
	floor string // the floor's series
	value float64
}

// What floors were on the reference machine: 2 cores on which a bare python3
// takes 5 ms to its first byte. Over an engine's attach stream and over pipes,
// where there are two.
var (
	// The time from sending a program to a booted Python until its result is here.
	attachedWarm = &reference{warmFloor, 0.35}
	pipedWarm    = &reference{warmFloor, 0.16}
	// The start of a bare Python that imports asyncio and json, to its first byte.
	pipedCold = &reference{coldFloor, 39}
	// How many of those, in a jail, were started in a second.
	jailedRate = 45.0
	// 1000 calls at once from a bare Python.
	attachedGather = &reference{channelFloor, 11}
	pipedGather    = &reference{channelFloor, 8}
	// A value of 10 MB to a bare Python, parsed there.
	attachedTake = &reference{takeFloor, 31}
	pipedTake    = &reference{takeFloor, 26}
)

// scale is how much slower than the reference machine this one is; 0 if its
// floor was not measured.
func (r *result) scale(ref *reference) float64 {
	if ref == nil {
		return 0
	}
	floor := r.find(ref.floor)
	if floor == nil {
		return 0
	}
	return floor.P50 / ref.value
}

// most checks that a figure is at most a bar, in the row's unit.
func (r *result) most(what string, seen, bar float64, ref *reference) {
	c := check{What: what, Bar: "≤ " + figure(bar, r.Unit), Seen: figure(seen, r.Unit), Met: seen <= bar}
	if scale := r.scale(ref); scale > 0 {
		ratio, floor := bar/ref.value, ref.value*scale
		c.Relative = &check{
			What: what + " as a ratio",
			Bar:  fmt.Sprintf("≤ %.3g × %s", ratio, ref.floor),
			Seen: fmt.Sprintf("%.3g ×", seen/floor),
			Met:  seen <= ratio*floor,
		}
	}
	r.Checks = append(r.Checks, c)
}

// least checks that a rate is at least a bar. floor is the rate here of what
// was done at the rate of reference on the machine where the bar was set; 0 if
// that is not measured.
func (r *result) least(what string, seen, bar float64, floor series, reference float64) {
	c := check{What: what, Bar: "≥ " + figure(bar, r.Unit), Seen: figure(seen, r.Unit), Met: seen >= bar}
	if floor.P50 > 0 {
		ratio := bar / reference
		c.Relative = &check{
			What: what + " as a ratio",
			Bar:  fmt.Sprintf("≥ %.3g × %s", ratio, floor.Name),
			Seen: fmt.Sprintf("%.3g ×", seen/floor.P50),
			Met:  seen >= ratio*floor.P50,
		}
	}
	r.Checks = append(r.Checks, c)
}

// share checks that a figure is at least a share of a floor that is a rate.
func (r *result) share(what string, seen float64, floor series, share float64) {
	r.Checks = append(r.Checks, check{
		What: what,
		Bar:  fmt.Sprintf("≥ %.0f %% of %s, %s", 100*share, figure(floor.P50, r.Unit), floor.Name),
		Seen: fmt.Sprintf("%.0f %%", 100*seen/floor.P50),
		Met:  seen >= share*floor.P50,
	})
}

// straight fits a line to the points of a growth, and checks that none is
// farther from it than a share.
func (r *result) straight(points []growthPoint, within float64) {
	var xy []stats.Point
	for _, p := range points {
		xy = append(xy, stats.Point{X: p.X, Y: p.P50})
	}
	line, ok := stats.Fit(xy)
	if !ok {
		r.note("no line fits so few points")
		return
	}
	r.Growth.Line = &line
	r.Checks = append(r.Checks, check{
		What: "linear",
		Bar:  fmt.Sprintf("no point more than %.0f %% above one line", 100*within),
		Seen: fmt.Sprintf("at most %+.0f %%, at %s", 100*line.Worst, count(line.WorstX)),
		Met:  line.Worst <= within,
	})
}

// count writes a large number short: 1k, 64M.
func count(v float64) string {
	switch {
	case v >= 1<<20 && math.Mod(v, 1<<20) == 0:
		return fmt.Sprintf("%.0fM", v/(1<<20))
	case v >= 1000 && math.Mod(v, 1000) == 0:
		return fmt.Sprintf("%.0fk", v/1000)
	case v >= 1<<10 && math.Mod(v, 1<<10) == 0:
		return fmt.Sprintf("%.0fK", v/(1<<10))
	}
	return fmt.Sprintf("%.0f", v)
}

// over checks a figure against a floor: at most times it, and plus so much. The
// plus is time of this machine, and ref, unless nil, says what that is worth.
func (r *result) over(what string, seen, floor, times, plus float64, ref *reference) {
	c := overCheck(what, r.Unit, seen, floor, times, plus)
	if scale := r.scale(ref); scale > 0 {
		relative := overCheck(what+" as a ratio", r.Unit, seen, floor, times, plus*scale)
		relative.Bar += fmt.Sprintf(", which is %.3g × %s", plus/ref.value, ref.floor)
		c.Relative = &relative
	}
	r.Checks = append(r.Checks, c)
}

func overCheck(what, unit string, seen, floor, times, plus float64) check {
	c := check{What: what, Met: seen <= floor*times+plus}
	switch {
	case times == 1:
		c.Bar = "≤ floor + " + figure(plus, unit)
		c.Seen = fmt.Sprintf("floor %+.2g %s", seen-floor, unit)
		if d := seen - floor; d >= 10 || d <= -10 {
			c.Seen = fmt.Sprintf("floor %+.0f %s", d, unit)
		}
	case plus == 0:
		c.Bar = fmt.Sprintf("≤ %.4g × floor", times)
		c.Seen = fmt.Sprintf("%.2f ×", seen/floor)
	default:
		c.Bar = fmt.Sprintf("≤ %.4g × floor + %s", times, figure(plus, unit))
		c.Seen = fmt.Sprintf("%.2f × floor %+.1f %s", times, seen-floor*times, unit)
	}
	return c
}

// figure writes a number with its unit, to three digits or so.
func figure(v float64, unit string) string {
	var text string
	switch {
	case v >= 100 || v <= -100:
		text = fmt.Sprintf("%.0f", v)
	case v >= 10 || v <= -10:
		text = fmt.Sprintf("%.1f", v)
	default:
		text = fmt.Sprintf("%.2f", v)
	}
	return strings.TrimSpace(text + " " + unit)
}
