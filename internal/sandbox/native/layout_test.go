//go:build linux

package native

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTheLoadersConfigurationIsFollowed(t *testing.T) {
	root := t.TempDir()
	fill(t, filepath.Join(root, "etc"), map[string]string{"ld.so.conf": "# comment\ninclude ld.so.conf.d/*.conf\n/opt/lib # why\nrelative\n"})
	fill(t, filepath.Join(root, "etc/ld.so.conf.d"), map[string]string{
		"a.conf":    "/usr/local/lib\n",
		"b.conf":    "include /etc/ld.so.conf\n", // a circle
		"ignored.x": "/nowhere\n",
	})
	got := loaderDirs(root, "/etc/ld.so.conf", 0)
	for _, want := range []string{"/usr/local/lib", "/opt/lib"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not among %v", want, got)
		}
	}
	for _, unwanted := range []string{"relative", "/nowhere"} {
		if slices.Contains(got, unwanted) {
			t.Errorf("%s is among %v", unwanted, got)
		}
	}
}

// The loader itself is asked, for every Python here, and must name the same.
func TestLibrariesAreThoseThatTheLoaderTakes(t *testing.T) {
	for _, path := range candidates() {
		python, err := ask(t.Context(), path)
		if err != nil {
			continue
		}
		libs := newLibraries("/")
		if err := libs.addExecutable(python.Executable); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), libs.loader, "--list", python.Executable).Output()
		if err != nil {
			t.Fatal(err)
		}
		compared := 0
		for line := range strings.Lines(string(out)) {
			soname, rest, ok := strings.Cut(strings.TrimSpace(line), " => ")
			if !ok {
				continue
			}
			want, _, _ := strings.Cut(rest, " (")
			n := slices.IndexFunc(libs.found, func(l library) bool { return l.soname == soname })
			if n < 0 {
				t.Errorf("%s: %s is missing", path, soname)
				continue
			}
			compared++
			if same, err := sameFile(libs.found[n].path, want); err != nil || !same {
				t.Errorf("%s: %s is %s, want %s (%v)", path, soname, libs.found[n].path, want, err)
			}
		}
		if compared == 0 {
			t.Errorf("%s: nothing to compare in %s", path, out)
		}
	}
}

func sameFile(a, b string) (bool, error) {
	first, err := os.Stat(a)
	if err != nil {
		return false, err
	}
	second, err := os.Stat(b)
	if err != nil {
		return false, err
	}
	return os.SameFile(first, second), nil
}

func TestPathsInsideOthersAreDropped(t *testing.T) {
	got := outermost([]string{"/usr/lib/python3.11/lib-dynload", "/usr/lib/python3.11", "/usr/lib/python3.11/", "/usr/lib/python311.zip"})
	if want := []string{"/usr/lib/python3.11", "/usr/lib/python311.zip"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTheLayoutShowsTheInterpreterOnly(t *testing.T) {
	python, err := ask(t.Context(), "/usr/bin/python3")
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLayout(python)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range l.binds {
		resolved, err := filepath.EvalSymlinks(b.Source)
		if err != nil || resolved != b.Source {
			t.Errorf("%s is a link (%v)", b.Source, err)
		}
		allowed := b.Device || b.Source == python.Executable || strings.Contains(b.Source, ".so") ||
			slices.Contains(python.Library, b.Source) || b.Target == python.Zones
		if !allowed {
			t.Errorf("%s is shown for no reason", b.Source)
		}
		if b.Dir && (b.Source == "/" || b.Source == "/usr" || b.Source == "/usr/lib" || strings.HasPrefix(b.Source, "/etc") || strings.HasPrefix(b.Source, "/home")) {
			t.Errorf("%s is far too much", b.Source)
		}
	}
}

func TestFilesThatTheSandboxCouldNotReadAreNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "private")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := &layout{}
	if err := l.file(path, path); err != nil {
		t.Fatal(err)
	}
	if err := l.readableByOthers(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
	if err := l.readableByUs(); err != nil {
		t.Errorf("its owner can: %v", err)
	}
}
