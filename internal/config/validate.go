package config

import (
	"strconv"
	"strings"
	"unicode"
)

const (
	maxSeconds = 24 * 60 * 60

	// The smallest memory that boots Python with asyncio; the same as
	// sandbox.MinMemoryBytes.
	minMemoryBytes = 32 << 20
)

// validator checks the values of a decoded Config. It leaves alone what is
// known to be wrong already.
type validator struct {
	*decoder
}

// add complains about a key, at its line or else that of the mapping it is
// missing from.
func (v *validator) add(key, format string, args ...any) {
	at, ok := v.given[key]
	if !ok {
		at = v.given[key[:max(0, strings.LastIndexAny(key, ".["))]]
	}
	v.problems.add(at, key, format, args...)
}

func (v *validator) has(key string) bool {
	_, ok := v.given[key]
	return ok
}

func (v *validator) config(cfg *Config) {
	v.servers(cfg.Servers)
	v.imports(cfg.Import)
	v.tools(cfg.Tools)

	e := &cfg.Execution
	v.seconds("execution.timeout_seconds", e.TimeoutSeconds)
	v.bytes("execution.max_output_bytes", Size(e.MaxOutputBytes), 256, 256<<20)
	v.count("execution.max_tool_calls", e.MaxToolCalls, 1, 1_000_000)
	v.count("execution.max_concurrent_calls", e.MaxConcurrentCalls, 1, 10_000)
	v.seconds("execution.tool_call_timeout_seconds", e.ToolCallTimeoutSeconds)
	v.bytes("execution.max_tool_result_bytes", e.MaxToolResultBytes, 1, 1<<30)
	v.bytes("execution.max_memory_bytes", e.MaxMemoryBytes, minMemoryBytes, 1<<40)
	v.between("execution.max_cpus", e.MaxCPUs, 0.01, 1024) // 0.01 is Docker's smallest
	v.count("execution.max_processes", e.MaxProcesses, 4, 1_000_000)
	v.bytes("execution.max_scratch_bytes", e.MaxScratchBytes, 64<<10, 1<<40)
	v.count("execution.max_open_files", e.MaxOpenFiles, 16, 1_000_000)
	v.pool(e)

	v.dockerHost("docker.host", cfg.Docker.Host)
	v.token("docker.image", cfg.Docker.Image)
	if cfg.Docker.Runtime != "" {
		v.token("docker.runtime", cfg.Docker.Runtime)
	}
	if v.literal("python.path", cfg.Python.Path) {
		v.program("python.path", cfg.Python.Path)
	}
}

func (v *validator) tools(tools Tools) {
	if v.has("tools.allow") && v.has("tools.block") {
		v.add("tools.block", "cannot stand beside allow; keep one: allow leaves out what it does not list, block leaves out what it lists")
	}
	if v.has("tools.allow") && len(tools.Allow) == 0 && !v.problems.mention("tools.allow") {
		v.add("tools.allow", "lists nothing, so no tool could be called; list patterns such as mcp__github__*, or remove the key to allow all")
	}
	v.patterns("tools.allow", tools.Allow)
	v.patterns("tools.block", tools.Block)
	v.patterns("tools.direct", tools.Direct)
}

// patterns finds the globs that match no callable name, all of which begin
// with mcp__: a block list that blocks nothing must not go unnoticed. A tool
// whose original name has one of the refused characters is matched with ?.
func (v *validator) patterns(key string, patterns []string) {
	const prefix = "mcp__"
	for i, pattern := range patterns {
		item := key + "[" + strconv.Itoa(i) + "]"
		if v.problems.mention(item) {
			continue
		}
		literal := pattern
		if special := strings.IndexAny(pattern, "*?"); special >= 0 {
			literal = pattern[:special]
		}
		switch {
		case !v.literal(item, pattern):
		case strings.ContainsAny(pattern, `[]{}|,\`):
			v.add(item, "the pattern %s holds one of [ ] { } | , \\; only * and ? are special, and each pattern is an item of its own", quote(pattern))
		case strings.HasPrefix(literal, prefix), literal != pattern && strings.HasPrefix(prefix, literal):
		default:
			v.add(item, "the pattern %s matches no tool: their names are mcp__<server>__<tool>, as in mcp__github__*", quote(pattern))
		}
	}
}

// pool checks the sizes of the pool. A default may be below the other value,
// and then adds nothing to it; what was written may not.
func (v *validator) pool(e *Execution) {
	const size, ceiling, most = "execution.pool_size", "execution.pool_max", 64
	v.count(size, e.PoolSize, 0, most)
	v.count(ceiling, e.PoolMax, 0, most)
	if v.has(size) && v.has(ceiling) && e.PoolMax < e.PoolSize && !v.problems.mention(ceiling) {
		v.add(ceiling, "must be at least pool_size, which is %d, not %d", e.PoolSize, e.PoolMax)
	}
}

func (v *validator) seconds(key string, value float64) {
	switch {
	case v.problems.mention(key):
	case value <= 0:
		v.add(key, "must be more than 0 seconds, not %g", value)
	case value > maxSeconds:
		v.add(key, "must be at most %d seconds (24 hours), not %g", maxSeconds, value)
	}
}

func (v *validator) between(key string, value, least, most float64) {
	if (value < least || value > most) && !v.problems.mention(key) {
		v.add(key, "must be from %g to %g, not %g", least, most, value)
	}
}

func (v *validator) count(key string, value, least, most int) {
	if (value < least || value > most) && !v.problems.mention(key) {
		v.add(key, "must be from %d to %d, not %d", least, most, value)
	}
}

func (v *validator) bytes(key string, value, least, most Size) {
	if (value < least || value > most) && !v.problems.mention(key) {
		v.add(key, "must be from %s to %s, not %s", least, most, value)
	}
}

func (v *validator) dockerHost(key, value string) {
	if value == "" || v.problems.mention(key) || !v.literal(key, value) {
		return
	}
	schemes := []string{"unix", "npipe", "tcp", "http", "https", "ssh"}
	for _, scheme := range schemes {
		if rest, ok := strings.CutPrefix(value, scheme+"://"); ok && rest != "" {
			return
		}
	}
	v.add(key, "is not an engine's address such as unix:///var/run/docker.sock; it begins with %s, then ://", orList(schemes))
}

// token checks a word without blanks.
func (v *validator) token(key, value string) {
	switch {
	case v.problems.mention(key):
	case value == "":
		v.add(key, "is empty; remove the key to have the default")
	case strings.ContainsFunc(value, unprintable), strings.Contains(value, " "):
		v.add(key, "%s holds a blank or a character that cannot be printed", quote(value))
	default:
		v.literal(key, value)
	}
}

// program checks the path of a program.
func (v *validator) program(key, value string) {
	switch {
	case v.problems.mention(key):
	case strings.ContainsFunc(value, unprintable):
		v.add(key, "holds a character that cannot be printed")
	case strings.HasPrefix(value, "~"):
		v.add(key, "~ does not stand for the home folder here; write the whole path")
	}
}

// literal checks that nobody relies on variables where there are none.
func (v *validator) literal(key, value string) bool {
	if strings.Contains(value, "${") {
		v.add(key, "variables stand only in a server's command, args, env, cwd, url, headers, headers_command, auth and ca_file")
		return false
	}
	return true
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }
