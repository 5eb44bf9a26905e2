//go:build unix

package downstream

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestOffersPassThroughAsTheyAre(t *testing.T) {
	for _, era := range []string{"", "modern "} {
		s := connected(t, fakeConfig(t, era+"offers"))
		if st := s.Status(); !st.Resources || !st.Prompts {
			t.Fatalf("status %+v, want resources and prompts", st)
		}
		resources, err := s.ListResources(patient(t))
		if got := joined(resources); err != nil || got != `{"uri":"a:1","name":"one","size":9007199254740993} {"uri":"a:2","name":"two"}` {
			t.Errorf("resources %s, error %v", got, err)
		}
		raw, err := s.ReadResource(patient(t), "a:1")
		if err != nil || !strings.Contains(string(raw), `"odd":9007199254740993`) {
			t.Errorf("read %s, error %v", raw, err)
		}
		prompts, err := s.ListPrompts(patient(t))
		if got := joined(prompts); err != nil || got != `{"name":"greet","arguments":[{"name":"who","required":true}]}` {
			t.Errorf("prompts %s, error %v", got, err)
		}
		raw, err = s.GetPrompt(patient(t), "greet", map[string]string{"who": "Ada"})
		if err != nil || !strings.Contains(string(raw), `{\"who\":\"Ada\"}`) {
			t.Errorf("prompt %s, error %v", raw, err)
		}
		var rpc *RPCError
		if _, err := s.ReadResource(patient(t), "a:9"); !errors.As(err, &rpc) || rpc.Message != "no such resource" {
			t.Errorf("reading what is not there: %v", err)
		}
		if _, err := s.ListResourceTemplates(patient(t)); err == nil || !strings.Contains(err.Error(), "resourceTemplates is not an array") {
			t.Errorf("a list that is none: %v", err)
		}
	}
}

func TestServersWithoutOffersHaveEmptyLists(t *testing.T) {
	s := connected(t, fakeConfig(t, ""))
	if st := s.Status(); st.Resources || st.Prompts {
		t.Errorf("status %+v, want neither resources nor prompts", st)
	}
	resources, err := s.ListResources(patient(t))
	if err != nil || len(resources) != 0 {
		t.Errorf("resources %v, error %v", resources, err)
	}
}

func TestEndlessListsOfOffersEnd(t *testing.T) {
	s := connected(t, fakeConfig(t, "offers endless"))
	resources, err := s.ListResources(patient(t))
	if err != nil || len(resources) != 2 {
		t.Errorf("%d resources, error %v", len(resources), err)
	}
}

func TestChangesOfOffersAreCounted(t *testing.T) {
	s := connected(t, fakeConfig(t, "offers"))
	before := s.Status()
	if _, err := call(t, s, "offerchange", "{}"); err != nil {
		t.Fatal(err)
	}
	eventually(t, s, "told of both changes", func(st Status) bool {
		return st.ResourcesRevision > before.ResourcesRevision && st.PromptsRevision > before.PromptsRevision
	})
}

func TestProgressReachesTheCallItIsAbout(t *testing.T) {
	for _, era := range []string{"", "modern"} {
		s := connected(t, fakeConfig(t, era))
		var seen []string
		_, err := s.CallWithProgress(patient(t), "steps", nil, func(params json.RawMessage) {
			seen = append(seen, string(params))
		})
		if err != nil || len(seen) != 2 || !strings.Contains(seen[0], `"message":"on"`) {
			t.Errorf("progress %q, error %v", seen, err)
		}
	}
}

func joined(items []json.RawMessage) string {
	var texts []string
	for _, item := range items {
		texts = append(texts, string(item))
	}
	return strings.Join(texts, " ")
}
