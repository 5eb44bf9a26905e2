// Package fusedev makes a folder with files that behave like /dev/null,
// /dev/zero, /dev/random and /dev/urandom, where device nodes cannot be made:
// a file system of its own, whose requests the kernel passes to this process
// (FUSE).
//
// It owns the mount and the answers, which a hostile program asks for. It must
// not know sandboxes, nor where the folder is shown.
package fusedev

import "time"

// Device is where the kernel offers FUSE. Whoever opens it can serve file
// systems, in its own user namespace only; distributions let everyone (mode
// 0666, by udev).
const Device = "/dev/fuse"

// Names are the files of a folder.
var names = [...]string{"null", "zero", "random", "urandom"}

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
