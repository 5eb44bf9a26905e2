package attack

import (
	"encoding/json"
	"slices"
	"strings"
)

// Account is what a program says of itself: one line of JSON in its output. A
// program that has broken out could lie; what it tries to do to the host is
// also looked for on the host, by tests.
type Account struct {
	Attack string `json:"attack"`
	// Succeeded is true when any attempt did.
	Succeeded bool `json:"succeeded"`
	// Detail is a summary, in one line.
	Detail   string    `json:"detail"`
	Attempts []Attempt `json:"attempts"`
}

// Attempt is one thing that a program tried.
type Attempt struct {
	What      string `json:"what"`
	Succeeded bool   `json:"succeeded"`
	Detail    string `json:"detail"`
	// Errno is the name of the kernel's error ("EPERM"), "ABSENT" when the
	// system has no such thing, empty if it failed otherwise.
	Errno string `json:"errno,omitempty"`
	// Root is true when only root can do it outside a sandbox.
	Root bool `json:"root,omitempty"`
}

// Read finds the account of an attack in what its program printed.
func (a Attack) Read(output string) (Account, bool) {
	lines := strings.Split(output, "\n")
	for _, line := range slices.Backward(lines) {
		var account Account
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &account) == nil && account.Attack == a.Name {
			return account, true
		}
	}
	return Account{}, false
}
