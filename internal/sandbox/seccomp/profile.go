package seccomp

import (
	"encoding/json"
	"sync"
)

// The shape of the JSON profile that Docker and Podman read, as documented in
// the OCI runtime specification ("Seccomp") and Docker's extension of it.
type profile struct {
	DefaultAction string        `json:"defaultAction"`
	ArchMap       []profileArch `json:"archMap"`
	Syscalls      []profileRule `json:"syscalls"`
}

type profileArch struct {
	Architecture     string   `json:"architecture"`
	SubArchitectures []string `json:"subArchitectures"`
}

type profileRule struct {
	Names    []string     `json:"names"`
	Action   string       `json:"action"`
	Args     []profileArg `json:"args,omitempty"`
	ErrnoRet *uint        `json:"errnoRet,omitempty"`
	Comment  string       `json:"comment,omitempty"`
}

type profileArg struct {
	Index    uint   `json:"index"`
	Value    uint64 `json:"value"`
	ValueTwo uint64 `json:"valueTwo"`
	Op       string `json:"op"`
}

// enosys is ENOSYS on every architecture of the profile.
const enosys = 38

// Profile returns the list as a container engine's JSON profile.
//
// Sub-architectures are left out: 32-bit and x32 calls, whose numbers mean
// something else, end the process.
var Profile = sync.OnceValue(func() string {
	p := profile{
		DefaultAction: "SCMP_ACT_ERRNO", // EPERM
		ArchMap: []profileArch{
			{Architecture: "SCMP_ARCH_X86_64", SubArchitectures: []string{}},
			{Architecture: "SCMP_ARCH_AARCH64", SubArchitectures: []string{}},
		},
	}
	for _, group := range Allowed() {
		p.Syscalls = append(p.Syscalls, profileRule{
			Names:   group.Syscalls,
			Action:  "SCMP_ACT_ALLOW",
			Args:    profileArgs(group.Conditions),
			Comment: group.Reason,
		})
	}
	for _, group := range NotImplemented() {
		errno := uint(enosys)
		p.Syscalls = append(p.Syscalls, profileRule{
			Names:    group.Syscalls,
			Action:   "SCMP_ACT_ERRNO",
			ErrnoRet: &errno,
			Comment:  group.Reason,
		})
	}
	text, _ := json.Marshal(p) // strings and integers always marshal
	return string(text)
})

func profileArgs(conditions []Condition) []profileArg {
	var args []profileArg
	for _, c := range conditions {
		arg := profileArg{Index: c.Arg, Value: c.Mask, ValueTwo: c.Value, Op: "SCMP_CMP_MASKED_EQ"}
		if c.Mask == allBits {
			arg = profileArg{Index: c.Arg, Value: c.Value, Op: "SCMP_CMP_EQ"}
		}
		args = append(args, arg)
	}
	return args
}
