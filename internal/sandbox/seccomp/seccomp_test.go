package seccomp

import (
	"encoding/json"
	"slices"
	"testing"
)

func names(groups []Group) map[string]string {
	all := map[string]string{}
	for _, group := range groups {
		for _, name := range group.Syscalls {
			all[name] = group.Reason
		}
	}
	return all
}

func TestNothingWithheldIsAllowed(t *testing.T) {
	allowed := names(Allowed())
	for name, reason := range names(Withheld()) {
		if _, ok := allowed[name]; ok {
			t.Errorf("%s is allowed, but withheld because: %s", name, reason)
		}
	}
}

func TestEveryCallIsListedOnceWithAReason(t *testing.T) {
	seen := map[string]bool{}
	for _, groups := range [][]Group{Allowed(), NotImplemented(), Withheld()} {
		for _, group := range groups {
			if group.Reason == "" || len(group.Syscalls) == 0 {
				t.Errorf("group %+v lacks a reason or calls", group)
			}
			for _, name := range group.Syscalls {
				if seen[name] {
					t.Errorf("%s is listed twice", name)
				}
				seen[name] = true
			}
		}
	}
}

func TestSocketsAreLocalAndClonesMakeNoNamespaces(t *testing.T) {
	for _, group := range Allowed() {
		for _, want := range []struct {
			call      string
			condition Condition
		}{
			{"socket", Condition{Arg: 0, Mask: allBits, Value: 1}},
			{"socketpair", Condition{Arg: 0, Mask: allBits, Value: 1}},
			{"clone", Condition{Arg: 0, Mask: 0x7E021000, Value: 0}},
		} {
			if slices.Contains(group.Syscalls, want.call) && !slices.Contains(group.Conditions, want.condition) {
				t.Errorf("%s is allowed under %+v, want %+v", want.call, group.Conditions, want.condition)
			}
		}
	}
}

func TestProfileRefusesByDefaultAndHasNoSubArchitectures(t *testing.T) {
	var p struct {
		DefaultAction string
		ArchMap       []struct{ SubArchitectures []string }
		Syscalls      []struct {
			Names    []string
			Action   string
			ErrnoRet *uint
			Args     []struct{ Op string }
		}
	}
	if err := json.Unmarshal([]byte(Profile()), &p); err != nil {
		t.Fatal(err)
	}
	if p.DefaultAction != "SCMP_ACT_ERRNO" {
		t.Errorf("default action is %s", p.DefaultAction)
	}
	for _, arch := range p.ArchMap {
		if len(arch.SubArchitectures) != 0 {
			t.Errorf("sub-architectures %v reach another call table", arch.SubArchitectures)
		}
	}
	rules := 0
	for _, rule := range p.Syscalls {
		if slices.Contains(rule.Names, "clone3") {
			rules++
			if rule.Action != "SCMP_ACT_ERRNO" || rule.ErrnoRet == nil || *rule.ErrnoRet != 38 {
				t.Errorf("clone3 is not answered with ENOSYS: %+v", rule)
			}
		}
		if slices.Contains(rule.Names, "socket") {
			rules++
			if len(rule.Args) != 1 || rule.Args[0].Op != "SCMP_CMP_EQ" {
				t.Errorf("socket is not bound to one family: %+v", rule)
			}
		}
	}
	if rules != 2 {
		t.Errorf("found %d of the rules for clone3 and socket, want 2", rules)
	}
}
