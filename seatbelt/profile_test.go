package seatbelt

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/seatbelt/seatbelttest"
)

var update = flag.Bool("update", false, "write testdata/rules.golden anew")

// example are the paths of a Homebrew Python.
func example() Paths {
	const framework = "/opt/homebrew/Cellar/python@3.12/3.12.7/Frameworks/Python.framework/Versions/3.12"
	return Paths{
		Python:    framework + "/Resources/Python.app/Contents/MacOS/Python",
		Scratch:   "/private/var/folders/xy/T/ptc-mcp-seatbelt-1/scratch",
		Libraries: []string{framework + "/lib/python3.12", framework + "/Resources/Python.app/Contents"},
		Packages:  []string{framework + "/lib/python3.12/site-packages"},
		Dylibs:    []string{framework + "/Python", "/opt/homebrew/Cellar/openssl@3/3.4.0/lib/libssl.3.dylib"},
		Markers:   []string{framework + "/Resources/Python.app/Contents/MacOS/pyvenv.cfg"},
		Steps:     []string{"/opt", "/opt/homebrew", "/opt/homebrew/opt/openssl@3", "/private", "/private/var"},
	}
}

func read(t *testing.T, paths Paths) *seatbelttest.Profile {
	t.Helper()
	text, definitions, err := Profile(paths)
	if err != nil {
		t.Fatal(err)
	}
	profile, err := seatbelttest.Read(text, definitions)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return profile
}

func TestEverythingIsDeniedFirst(t *testing.T) {
	first := read(t, example()).Rules[0]
	if first.Action != "deny" || !slices.Equal(first.Operations, []string{"default"}) || len(first.Filters) > 0 {
		t.Errorf("the first rule is %s", first)
	}
}

// The golden file lists whatever opens something, with the reason: a change of
// the profile shows in a review as what it is.
func TestWhatIsAllowedIsListedWithItsReason(t *testing.T) {
	forms, err := seatbelttest.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	for _, form := range forms {
		if form.Is("version") || form.String() == "(deny default)" {
			continue
		}
		if form.Comment == "" {
			t.Errorf("no reason is given for %s", form)
		}
		if !form.Is("deny") {
			list.WriteString(form.String() + "\n\t" + form.Comment + "\n")
		}
	}
	const golden = "testdata/rules.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(list.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if list.String() != string(want) {
		t.Errorf("base.sb and %s differ; after a review, run the test with -update. base.sb has\n%s", golden, list.String())
	}
}

func TestNoRuleHoldsForEverythingOrOpensWhatMustStayShut(t *testing.T) {
	least := example()
	least.Dylibs = nil
	for _, paths := range []Paths{example(), least} {
		for _, rule := range read(t, paths).Rules {
			if rule.Action != "allow" {
				continue
			}
			if len(rule.Filters) == 0 || len(rule.Operations) == 0 {
				t.Errorf("%s allows without a condition", rule)
			}
			for _, operation := range rule.Operations {
				for _, shut := range []string{
					"default", "file*", "file-write*", "file-link", "file-clone", "file-mknod", "file-mount", "file-ioctl", "file-write-setugid",
					"network", "mach", "iokit", "ipc", "nvram", "device", "process-fork", "process*", "process-exec*", "sysctl-write", "sysctl*",
					"system-kext", "system-privilege", "job", "lsopen", "appleevent", "user-preference", "pseudo-tty", "dynamic-code",
				} {
					if operation == shut || !strings.HasSuffix(shut, "*") && strings.HasPrefix(operation, shut) {
						t.Errorf("%s opens %s", rule, shut)
					}
				}
			}
			if strings.Contains(rule.String(), "(with ") {
				t.Errorf("%s has a modifier", rule)
			}
		}
	}
}

func TestWhatImportsBringIsShutAgain(t *testing.T) {
	forms, err := seatbelttest.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	var last []string // the denials after everything that allows
	for _, form := range forms {
		if form.Is("allow") || form.Is("import") {
			last = nil
		} else {
			last = append(last, form.String())
		}
	}
	for _, want := range []string{
		"(deny network*)", "(deny process-fork)", "(deny mach-lookup)", "(deny mach-register)",
		"(deny file-link)", "(deny file-clone)", "(deny sysctl-write)",
	} {
		if !slices.Contains(last, want) {
			t.Errorf("%s does not stand after all rules that allow", want)
		}
	}
}

func TestWhatAProgramTries(t *testing.T) {
	paths := example()
	profile := read(t, paths)
	library, home := paths.Libraries[0], "/Users/me"
	type attempt = seatbelttest.Attempt
	for _, c := range []struct {
		name    string
		attempt attempt
		want    bool
	}{
		{"reads a module", attempt{Operation: "file-read-data", Path: library + "/asyncio/base_events.py"}, true},
		{"maps an extension module", attempt{Operation: "file-map-executable", Path: library + "/lib-dynload/_json.so"}, true},
		{"maps a library that it needs", attempt{Operation: "file-map-executable", Path: paths.Dylibs[1]}, true},
		{"maps a library beside it", attempt{Operation: "file-map-executable", Path: "/opt/homebrew/Cellar/openssl@3/3.4.0/lib/libcrypto.3.dylib"}, false},
		{"reads an installed package", attempt{Operation: "file-read-data", Path: library + "/site-packages/requests/api.py"}, false},
		{"sees an installed package", attempt{Operation: "file-test-existence", Path: library + "/site-packages/requests"}, false},
		{"changes a module", attempt{Operation: "file-write-data", Path: library + "/os.py"}, false},
		{"links a module into the scratch folder", attempt{Operation: "file-link", Path: library + "/os.py"}, false},
		{"removes a module", attempt{Operation: "file-write-unlink", Path: library + "/os.py"}, false},
		{"starts its interpreter", attempt{Operation: "process-exec", Path: paths.Python}, true},
		{"starts a shell", attempt{Operation: "process-exec", Path: "/bin/sh"}, false},
		{"starts what it wrote", attempt{Operation: "process-exec", Path: paths.Scratch + "/evil"}, false},
		{"maps what it wrote", attempt{Operation: "file-map-executable", Path: paths.Scratch + "/evil.so"}, false},
		{"forks", attempt{Operation: "process-fork"}, false},
		{"writes a file", attempt{Operation: "file-write-create", Path: paths.Scratch + "/a"}, true},
		{"makes a folder", attempt{Operation: "file-write-create", Path: paths.Scratch + "/a", Type: "DIRECTORY"}, true},
		{"makes a link", attempt{Operation: "file-write-create", Path: paths.Scratch + "/a", Type: "SYMLINK"}, true},
		{"makes a pipe", attempt{Operation: "file-write-create", Path: paths.Scratch + "/a", Type: "FIFO"}, false},
		{"makes a socket", attempt{Operation: "file-write-create", Path: paths.Scratch + "/a", Type: "SOCKET"}, false},
		{"makes a link immutable", attempt{Operation: "file-write-flags", Path: paths.Scratch + "/a", Type: "SYMLINK"}, false},
		{"writes beside its scratch folder", attempt{Operation: "file-write-create", Path: paths.Scratch + "-2/a"}, false},
		{"writes into the folder of its scratch folder", attempt{Operation: "file-write-create", Path: "/private/var/folders/xy/T/ptc-mcp-seatbelt-1/process"}, false},
		{"makes a file setuid", attempt{Operation: "file-write-setugid", Path: paths.Scratch + "/a"}, false},
		{"gives a file away", attempt{Operation: "file-write-owner", Path: paths.Scratch + "/a"}, false},
		{"reads a key", attempt{Operation: "file-read-data", Path: home + "/.ssh/id_ed25519"}, false},
		{"sees that there is a key", attempt{Operation: "file-read-metadata", Path: home + "/.ssh/id_ed25519"}, false},
		{"tests whether there is a key", attempt{Operation: "file-test-existence", Path: home + "/.ssh/id_ed25519"}, false},
		{"sees a folder on the way", attempt{Operation: "file-read-metadata", Path: "/opt/homebrew", Type: "DIRECTORY"}, true},
		{"lists a folder on the way", attempt{Operation: "file-read-data", Path: "/opt/homebrew", Type: "DIRECTORY"}, false},
		{"lists the root folder, as the loader does", attempt{Operation: "file-read-data", Path: "/", Type: "DIRECTORY"}, true},
		{"lists the home folders", attempt{Operation: "file-read-data", Path: "/Users", Type: "DIRECTORY"}, false},
		{"reads a time zone", attempt{Operation: "file-read-data", Path: "/private/var/db/timezone/tz/2025a/zoneinfo/Asia/Tokyo"}, true},
		{"reads the user's time zone", attempt{Operation: "file-read-data", Path: "/private/etc/localtime"}, false},
		{"reads randomness", attempt{Operation: "file-read-data", Path: "/dev/urandom"}, true},
		{"writes to nowhere", attempt{Operation: "file-write-data", Path: "/dev/null"}, true},
		{"reads a disk", attempt{Operation: "file-read-data", Path: "/dev/disk0"}, false},
		{"speaks to the terminal", attempt{Operation: "file-write-data", Path: "/dev/tty"}, false},
		{"makes a pair of sockets", attempt{Operation: "system-socket", Name: "AF_UNIX"}, true},
		{"makes a kernel control socket", attempt{Operation: "system-socket", Name: "AF_SYSTEM"}, false},
		{"makes a route socket", attempt{Operation: "system-socket", Name: "AF_ROUTE"}, false},
		{"connects", attempt{Operation: "network-outbound"}, false},
		{"listens", attempt{Operation: "network-bind"}, false},
		{"asks the pasteboard", attempt{Operation: "mach-lookup", Name: "com.apple.pasteboard.1"}, false},
		{"asks for the keychain", attempt{Operation: "mach-lookup", Name: "com.apple.SecurityServer"}, false},
		{"opens a device driver", attempt{Operation: "iokit-open"}, false},
		{"reads the device tree", attempt{Operation: "iokit-get-properties"}, false},
		{"signals itself", attempt{Operation: "signal"}, true},
		{"signals another process", attempt{Operation: "signal", Other: true}, false},
		{"looks at itself", attempt{Operation: "process-info-pidinfo"}, true},
		{"looks at another process", attempt{Operation: "process-info-pidinfo", Other: true}, false},
		{"lists processes", attempt{Operation: "process-info-listpids"}, false},
		{"asks for the page size", attempt{Operation: "sysctl-read", Name: "hw.pagesize"}, true},
		{"asks for the arguments of processes", attempt{Operation: "sysctl-read", Name: "kern.procargs2"}, false},
		{"asks for the list of processes", attempt{Operation: "sysctl-read", Name: "kern.proc.all"}, false},
		{"asks for network interfaces", attempt{Operation: "sysctl-read", Name: "net.routetable.0.0.3.0"}, false},
		{"changes a setting of the kernel", attempt{Operation: "sysctl-write", Name: "kern.hostname"}, false},
		{"makes shared memory", attempt{Operation: "ipc-posix-shm-write-create", Name: "/a"}, false},
	} {
		got, err := profile.Allows(c.attempt)
		if err != nil {
			t.Fatal(err)
		}
		if got != c.want {
			t.Errorf("%s: allowed is %v, want %v", c.name, got, c.want)
		}
	}
}

func TestNoPathBecomesPartOfTheText(t *testing.T) {
	plain, _, err := Profile(example())
	if err != nil {
		t.Fatal(err)
	}
	paths := example()
	paths.Scratch = `/tmp/a") (allow default) ; (param "LIBRARY")`
	paths.Libraries[0] = `/Users/o"hara/(lib)\`
	text, definitions, err := Profile(paths)
	if err != nil {
		t.Fatal(err)
	}
	if text != plain {
		t.Error("the text depends on the paths")
	}
	if !slices.Contains(definitions, "SCRATCH="+paths.Scratch) || !slices.Contains(definitions, "LIBRARY_0="+paths.Libraries[0]) {
		t.Errorf("got %q", definitions)
	}
}

func TestAPathThatIsMissingOrRelativeIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(*Paths){
		"no interpreter":       func(p *Paths) { p.Python = "" },
		"no scratch folder":    func(p *Paths) { p.Scratch = "" },
		"no library":           func(p *Paths) { p.Libraries = nil },
		"no packages":          func(p *Paths) { p.Packages = nil },
		"no markers":           func(p *Paths) { p.Markers = nil },
		"no steps":             func(p *Paths) { p.Steps = nil },
		"an empty library":     func(p *Paths) { p.Libraries = []string{""} },
		"a relative dylib":     func(p *Paths) { p.Dylibs = []string{"libssl.dylib"} },
		"a NUL in the scratch": func(p *Paths) { p.Scratch = "/tmp/a\x00b" },
	} {
		paths := example()
		spoil(&paths)
		if text, _, err := Profile(paths); err == nil || text != "" {
			t.Errorf("%s: no error", name)
		}
	}
}
