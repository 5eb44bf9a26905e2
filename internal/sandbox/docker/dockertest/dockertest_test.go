package dockertest

import (
	"errors"
	"testing"
)

func env(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

func TestMissingEngineFailsOnlyWhereItMustBeThere(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		want bool
	}{
		{"on a developer's machine", nil, false},
		{"in CI", map[string]string{"CI": "true"}, true},
		{"where it is demanded", map[string]string{"PTC_MCP_REQUIRE_DOCKER": "1"}, true},
		{"where it is not demanded", map[string]string{"PTC_MCP_REQUIRE_DOCKER": "0"}, false},
	} {
		if got := mustHave(env(c.env)); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestFirstUsableImageIsTaken(t *testing.T) {
	missing := errors.New("missing")
	probe := func(image string) error {
		if image == "there" {
			return nil
		}
		return missing
	}
	if got, err := firstUsable([]string{"gone", "there"}, probe); got != "there" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := firstUsable([]string{"gone"}, probe); !errors.Is(err, missing) {
		t.Errorf("got %v, want the first image's error", err)
	}
	if got := candidates(env(map[string]string{"PTC_MCP_TEST_IMAGE": "mine"})); len(got) != 1 || got[0] != "mine" {
		t.Errorf("got %v, want only the named image", got)
	}
}
