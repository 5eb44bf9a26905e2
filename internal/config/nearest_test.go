package config

import "testing"

func TestNearestFindsWhatWasMeant(t *testing.T) {
	backends := []string{"auto", "docker", "native", "seatbelt", "none"}
	transports := []string{"stdio", "http", "sse"}
	times := []string{"timeout_seconds", "tool_call_timeout_seconds", "max_cpus"}
	tests := map[string]struct {
		word  string
		valid []string
		want  string
	}{
		"a letter too few":              {"dcker", backends, "docker"},
		"two letters exchanged":         {"natvie", backends, "native"},
		"capitals":                      {"Docker", backends, "docker"},
		"a word of another program":     {"podman", backends, "docker"},
		"a longer word":                 {"streamable-http", transports, "http"},
		"a shorter word":                {"timeout", times, "timeout_seconds"},
		"a dash for an underscore":      {"max-cpus", times, "max_cpus"},
		"nothing alike":                 {"firecracker", backends, ""},
		"too short to tell":             {"on", []string{"summary", "off"}, ""},
		"nothing":                       {"", backends, ""},
		"the closest of several":        {"tool_timeout_seconds", times, "timeout_seconds"},
		"a word of ours, not valid":     {"cmd", transports, ""},
		"something far too long":        {string(make([]byte, 1<<20)), backends, ""},
		"letters of more than a byte":   {"döcker", backends, "docker"},
		"a spelling before a substring": {"stdoi", transports, "stdio"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := nearest(test.word, test.valid); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
