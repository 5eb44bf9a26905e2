package registry

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// A callable name is tool.Prefix, the server's part, "__" and the tool's part.
// Each part is a Python identifier of its own, since programs also write
// servers.<server>.<tool>. Parts depend on the configuration and on one
// server's tool list only, never on the order in which servers connect.

// maxPart bounds a part, in bytes, so that a callable name stays well below
// the 512 bytes the channel allows.
const maxPart = 200

// separator stands between the parts of a callable name.
const separator = "__"

// pythonKeywords cannot be identifiers, in any Python from 3.9 on.
var pythonKeywords = []string{
	"False", "None", "True", "and", "as", "assert", "async", "await", "break",
	"class", "continue", "def", "del", "elif", "else", "except", "finally",
	"for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
	"not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
}

// fold replaces every character outside [A-Za-z0-9_] by an underscore.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && isIdentifierByte(byte(r)) {
			return r
		}
		return '_'
	}, s)
}

func isIdentifierByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// identifier makes a Python identifier of a name.
func identifier(name string) string {
	id := fold(name)
	if len(id) > maxPart {
		id = id[:maxPart]
	}
	switch {
	case id == "" || '0' <= id[0] && id[0] <= '9':
		return "_" + id
	case slices.Contains(pythonKeywords, id):
		return id + "_"
	}
	return id
}

// toolParts gives every tool of one server its part. A tool whose name is an
// identifier already keeps it, whatever else there is; of the others, in the
// order of their names, the first gets its identifier and those that collide
// get the lowest free suffix _2, _3, …. Of tools with the same name only the
// first gets a part; the others are left out.
func toolParts(tools []downstream.Tool) map[string]int {
	parts := make(map[string]int, len(tools))
	seen := make(map[string]bool, len(tools))
	var changed []int
	for i := range tools {
		name := tools[i].Name
		if seen[name] {
			continue
		}
		seen[name] = true
		if identifier(name) == name {
			parts[name] = i
		} else {
			changed = append(changed, i)
		}
	}
	slices.SortFunc(changed, func(a, b int) int { return cmp.Compare(tools[a].Name, tools[b].Name) })
	var colliding []int
	for _, i := range changed {
		id := identifier(tools[i].Name)
		if _, taken := parts[id]; taken {
			colliding = append(colliding, i)
		} else {
			parts[id] = i
		}
	}
	next := map[string]int{}
	for _, i := range colliding {
		id := identifier(tools[i].Name)
		part := numbered(id, max(next[id], 2), func(p string) bool { _, taken := parts[p]; return taken }, next)
		parts[part] = i
	}
	return parts
}

// numbered returns base_n for the first n from start on that is not taken, and
// notes in next where to go on for that base.
func numbered(base string, start int, taken func(string) bool, next map[string]int) string {
	for n := start; ; n++ {
		if part := base + "_" + strconv.Itoa(n); !taken(part) {
			next[base] = n + 1
			return part
		}
	}
}

// serverParts gives every configured server its part, in the same manner:
// names that are identifiers come first, shorter before longer, then the
// order of the configuration decides. No two callable names of different
// servers can be equal, whatever their tools are called: a part that another
// part and "__" could be the beginning of is written with single underscores.
func serverParts(names []string) []string {
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
	}
	changed := func(i int) int {
		if identifier(names[i]) == names[i] {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(changed(a), changed(b)), cmp.Compare(len(names[a]), len(names[b])))
	})
	parts := make([]string, len(names))
	clashes := func(part string) bool {
		return slices.ContainsFunc(parts, func(other string) bool {
			return other != "" &&
				(strings.HasPrefix(part+separator, other+separator) || strings.HasPrefix(other+separator, part+separator))
		})
	}
	for _, i := range order {
		part := identifier(names[i])
		if clashes(part) {
			part = singleUnderscores(part)
		}
		if clashes(part) {
			part = numbered(part, 2, clashes, map[string]int{})
		}
		parts[i] = part
	}
	return parts
}

// singleUnderscores writes runs of underscores as one and none at the end.
func singleUnderscores(part string) string {
	words := slices.DeleteFunc(strings.Split(part, "_"), func(w string) bool { return w == "" })
	single := strings.Join(words, "_")
	if strings.HasPrefix(part, "_") {
		single = "_" + single
	}
	return identifier(single)
}

// callableName puts a callable name together.
func callableName(server, part string) string {
	return tool.Prefix + server + separator + part
}
