package docker

import (
	"os"
	"strconv"
	"sync"
)

// Labels of every container, so that the next start can tell whose it was.
const (
	labelOwned   = "ptc-mcp"         // "1"
	labelHost    = "ptc-mcp.host"    // the machine, as the owner sees it
	labelBoot    = "ptc-mcp.boot"    // that machine's boot
	labelPIDs    = "ptc-mcp.pids"    // the process namespace the number is of
	labelPID     = "ptc-mcp.pid"     // the owner's process number
	labelStarted = "ptc-mcp.started" // when that process started
)

// identity names one process for as long as its machine runs: numbers are used
// again, a number with its start time is not.
type identity struct {
	host, boot, pids string
	pid              int
	started          string
}

// self is this process. Its start time is empty where it cannot be told, and
// then nothing is ever swept.
var self = sync.OnceValue(func() identity {
	host, _ := os.Hostname() // empty is an identity like any other
	id := identity{host: host + machineID(), boot: bootID(), pids: processNamespace(), pid: os.Getpid()}
	id.started, _ = processStarted(id.pid)
	return id
})

func (id identity) labels() map[string]string {
	return map[string]string{
		labelOwned:   "1",
		labelHost:    id.host,
		labelBoot:    id.boot,
		labelPIDs:    id.pids,
		labelPID:     strconv.Itoa(id.pid),
		labelStarted: id.started,
	}
}

// verdict says what is known about the owner of a container.
type verdict int

const (
	ownerUnknown verdict = iota // on another machine, or in another process namespace
	ownerDead
	ownerOfOtherBoot // this machine, or one that looks the same, was started again
)

// judge says whether the owner that labels name is dead, as far as this
// process can know. Living owners, itself included, are ownerUnknown.
func (id identity) judge(labels map[string]string, started func(pid int) (string, bool)) verdict {
	pid, err := strconv.Atoi(labels[labelPID])
	switch {
	case err != nil, labels[labelOwned] != "1", labels[labelHost] != id.host, id.boot == "", id.started == "":
		return ownerUnknown
	case labels[labelBoot] != id.boot:
		return ownerOfOtherBoot
	case labels[labelPIDs] != id.pids:
		return ownerUnknown
	}
	if now, known := started(pid); known && now != labels[labelStarted] {
		return ownerDead
	}
	return ownerUnknown
}
