package native

import (
	"bytes"
	"fmt"
	"os"
)

// An oomScore is this process's /proc/self/oom_score_adj. Where memory runs
// out, in the sandbox's cgroup or on the whole machine, the kernel shall take
// the program first, and never the supervisor, which has to report it.
type oomScore struct {
	file *os.File
	own  []byte
}

// openOOMScore must be called while /proc is there, and before this process
// forbids tracing, which gives its files in /proc to root.
func openOOMScore() (*oomScore, error) {
	file, err := os.OpenFile("/proc/self/oom_score_adj", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open the out-of-memory score: %w", err)
	}
	own := make([]byte, 16)
	n, err := file.Read(own)
	if err != nil {
		return nil, fmt.Errorf("read the out-of-memory score: %w", err)
	}
	return &oomScore{file: file, own: bytes.TrimSpace(own[:n])}, nil
}

// around runs a function that starts a process, which inherits the highest
// score. Going back to the own one needs no right.
func (s *oomScore) around(f func() error) error {
	if _, err := s.file.WriteAt([]byte("1000"), 0); err != nil {
		return fmt.Errorf("set the out-of-memory score: %w", err)
	}
	if err := f(); err != nil {
		return err
	}
	if _, err := s.file.WriteAt(s.own, 0); err != nil {
		return fmt.Errorf("reset the out-of-memory score: %w", err)
	}
	return s.file.Close()
}
