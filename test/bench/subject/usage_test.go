package subject

import (
	"strings"
	"testing"
)

func TestParseStat(t *testing.T) {
	const rest = " S 17 1 1 0 -1 4194560 100 0 0 0 11 7 5 3 20 0 1 0 100 1000 10"
	for name, line := range map[string]string{
		"a plain name":               "42 (python3)" + rest,
		"a name with spaces":         "42 (a b c)" + rest,
		"a name with parentheses":    "42 (x) S 9 9)" + rest,
		"a name that opens only one": "42 ((sd-pam)" + rest,
	} {
		t.Run(name, func(t *testing.T) {
			pid, p, err := parseStat(line)
			if err != nil || pid != 42 || p.parent != 17 || p.ticks != 11+7 || p.reaped != 5+3 {
				t.Errorf("got %d %+v, %v", pid, p, err)
			}
		})
	}
	for name, line := range map[string]string{
		"nothing":         "",
		"no name":         "42 python3 S 17",
		"too few fields":  "42 (x) S 17 1 1",
		"a broken number": "42 (x)" + strings.Replace(rest, "11", "x1", 1),
	} {
		t.Run(name+" is an error", func(t *testing.T) {
			if pid, p, err := parseStat(line); err == nil {
				t.Errorf("got %d %+v", pid, p)
			}
		})
	}
}

func TestOutputOfEveryKindOfResult(t *testing.T) {
	for name, test := range map[string]struct{ raw, want, failure string }{
		"structured content":          {`{"content":[{"type":"text","text":"[Script executed successfully]\nx"}],"structuredContent":{"ok":true,"output":"1\n"}}`, "1\n", ""},
		"text only":                   {`{"content":[{"type":"text","text":"[Script executed successfully]\n1\n"}]}`, "1\n", ""},
		"an error":                    {`{"isError":true,"content":[{"type":"text","text":"broken"}]}`, "", "broken"},
		"a failure without a flag":    {`{"content":[{"type":"text","text":"[Script execution failed]\nbroken"}]}`, "", "[Script execution failed]\nbroken"},
		"a failure that says not ok":  {`{"content":[{"type":"text","text":"broken"}],"structuredContent":{"ok":false}}`, "", "broken"},
		"a result that is no result":  {`7`, "", "result of a tool"},
		"structured without any flag": {`{"content":[],"structuredContent":{"output":"1\n"}}`, "1\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := output([]byte(test.raw))
			switch {
			case test.failure == "" && (err != nil || got != test.want):
				t.Errorf("got %q, %v", got, err)
			case test.failure != "" && (err == nil || !strings.Contains(err.Error(), test.failure)):
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestParseAllocated(t *testing.T) {
	got, err := parseAllocated(strings.NewReader("heap profile: …\n# runtime.MemStats\n# Alloc = 5\n# TotalAlloc = 123456\n# Mallocs = 789\n# Frees = 1\n"))
	if err != nil || got != (Allocated{Bytes: 123456, Objects: 789}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := parseAllocated(strings.NewReader("heap profile: …\n")); err == nil {
		t.Errorf("got %+v from a profile without counters", got)
	}
}
