//go:build linux

package escape

import (
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/executor"
	"github.com/ptc-mcp/ptc-mcp/internal/sandbox/native"
)

// draws is what one run could foretell of another, a word each.
const draws = `
import os, random, secrets, tempfile, uuid
print(random.random(), secrets.token_hex(), uuid.uuid4(), os.urandom(8).hex(), os.path.basename(tempfile.mkdtemp()))
print(hash("a string"))
`

// TestARunForetellsNothingOfAnother holds runs of one zygote, which have memory
// in common, to different draws; and what they do have in common, to be gone
// where the configuration wants no zygote.
func TestARunForetellsNothingOfAnother(t *testing.T) {
	for name, kind := range map[string]struct {
		config native.Config
		hashes int
	}{
		"forked": {native.Config{}, 1},
		"booted": {native.Config{NoZygote: true}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			e := newExecutor(newNative(t, kind.config), &countingCaller{})
			drawn, hashes := map[string]bool{}, map[string]bool{}
			for range 3 {
				outcome := e.Run(t.Context(), executor.Request{Source: draws})
				first, second, _ := strings.Cut(strings.TrimSpace(outcome.Output), "\n")
				for word := range strings.FieldsSeq(first) {
					drawn[word] = true
				}
				hashes[second] = true
			}
			if len(drawn) != 3*5 {
				t.Errorf("drawn: %v", drawn)
			}
			if len(hashes) != kind.hashes {
				t.Errorf("the hashes of a string are %v, want %d", hashes, kind.hashes)
			}
		})
	}
}
