package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

// journalVariable names the file that a test reads to learn what reached the
// server. Several servers may share one file.
const journalVariable = "PTC_TESTSERVER_JOURNAL"

// event is one line of the journal.
type event struct {
	// Event is started, child, called, cancelled, finished, changed or
	// input_ended; cancelled and finished are written for tools that take time
	// only, changed before the clients are told that the list has.
	Event     string          `json:"event"`
	At        int64           `json:"at,omitempty"` // of started and changed, nanoseconds since 1970
	PID       int             `json:"pid,omitempty"`
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	ID        json.RawMessage `json:"id,omitempty"`
}

// journal appends events to a file; without one it does nothing.
type journal struct {
	mu   sync.Mutex
	file *os.File
}

func openJournal(path string) (*journal, error) {
	if path == "" {
		return &journal{}, nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return &journal{file: file}, nil
}

func (j *journal) write(e event) {
	if j.file == nil {
		return
	}
	if e.Event == "started" || e.Event == "changed" {
		e.At = time.Now().UnixNano()
	}
	line, err := json.Marshal(e)
	if err != nil {
		panic(err) // arguments come from decoded JSON
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		panic(fmt.Sprintf("journal: %v", err))
	}
}

// Close closes the file.
func (j *journal) Close() error {
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}

// spawnChild starts a process that ignores every polite request to end.
func spawnChild(journal *journal) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("child: %w", err)
	}
	child := exec.Command(self, "-linger")
	if err := child.Start(); err != nil {
		return fmt.Errorf("child: %w", err)
	}
	journal.write(event{Event: "child", PID: child.Process.Pid})
	return nil
}
