package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// emptyMachine gives the test a working folder and a home without any
// configuration, and returns the user's file (which is not there).
func emptyMachine(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	t.Chdir(t.TempDir())
	t.Setenv(EnvironmentVariable, "")
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("HOME", home)
	t.Setenv("AppData", home)
	folder, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, "ptc-mcp", "config.yaml")
}

func create(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFindTakesTheFirstFileOfItsOrder(t *testing.T) {
	user := emptyMachine(t)
	expect := func(explicit, want string) {
		t.Helper()
		if got, err := Find(explicit); err != nil || got != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	expect("", "")
	create(t, user)
	expect("", user)
	xdg := create(t, filepath.Join(t.TempDir(), "ptc-mcp", "config.yaml"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Dir(filepath.Dir(xdg)))
	expect("", xdg)
	create(t, "config.yaml")
	expect("", "config.yaml")
	named := create(t, filepath.Join(t.TempDir(), "named.yaml"))
	t.Setenv(EnvironmentVariable, named)
	expect("", named)
	explicit := create(t, filepath.Join(t.TempDir(), "explicit.yaml"))
	expect(explicit, explicit)
}

func TestANamedFileMustExist(t *testing.T) {
	emptyMachine(t)
	create(t, "config.yaml")
	if got, err := Find("gone.yaml"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), `--config names "gone.yaml"`) {
		t.Errorf("got %q, %v", got, err)
	}
	t.Setenv(EnvironmentVariable, "gone.yaml")
	if got, err := Find(""); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), `PTC_MCP_CONFIG names "gone.yaml"`) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestFindPassesOverAFolderOfTheFilesName(t *testing.T) {
	emptyMachine(t)
	if err := os.Mkdir("config.yaml", 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := Find(""); got != "" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAnAccountWithoutAHomeHasNoConfiguration(t *testing.T) {
	emptyMachine(t)
	if runtime.GOOS == "windows" {
		t.Setenv("AppData", "")
	}
	for _, home := range []string{"", os.DevNull, filepath.Join(t.TempDir(), "none")} {
		t.Setenv("HOME", home)
		if got, err := Find(""); got != "" || err != nil {
			t.Errorf("home %q: got %q, %v", home, got, err)
		}
	}
}
