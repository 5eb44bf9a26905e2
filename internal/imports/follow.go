package imports

import (
	"context"
	"time"
)

// Interval is how often the files are looked at. Asking for each file's time is
// cheaper than it looks (a few microseconds a file), and, other than being
// notified, works alike on every system, through links, for folders that do not
// exist yet, on network drives, and with editors that replace what they save.
const Interval = time.Second

// Follow looks at the files until ctx ends, and calls changed after each change
// of what they say since before, which Read returned. It does not return while
// changed runs.
func (f *Files) Follow(ctx context.Context, before Set, changed func(Set)) {
	f.follow(ctx, before, Interval, changed)
}

func (f *Files) follow(ctx context.Context, before Set, interval time.Duration, changed func(Set)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		var news bool
		if before, news = f.refresh(before); news {
			changed(before)
		}
	}
}
