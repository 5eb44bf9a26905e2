package fusedev

import "time"

// Answers cost the processor time of who gives them, not of the program that
// asks: beyond so many at once, each takes so long on average.
const (
	burst       = 20_000
	perRequest  = 200 * time.Microsecond
	burstLength = burst * perRequest
)

// A brake slows down who asks without end.
type brake struct {
	// until is the moment up to which requests have been paid for.
	until time.Time
}

// delay counts a request and returns how long its answer has to wait.
func (b *brake) delay(now time.Time) time.Duration {
	if earliest := now.Add(-burstLength); b.until.Before(earliest) {
		b.until = earliest
	}
	b.until = b.until.Add(perRequest)
	return max(0, b.until.Sub(now))
}
