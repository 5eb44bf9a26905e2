package downstream

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// inherited names the variables a stdio server gets from our environment.
// Everything else, secrets above all, it gets only if its env says so.
func inherited() []string {
	switch runtime.GOOS {
	case "windows":
		return []string{
			"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT",
			"PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT",
			"TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
		}
	case "darwin":
		return []string{"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"}
	default:
		return []string{"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"}
	}
}

// Environment is what a stdio server starts with: the minimal environment,
// overlaid with own. A value of ours that begins with "()" is a shell function
// and is left out.
func Environment(own map[string]string) []string {
	vars := make(map[string]string)
	for _, name := range inherited() {
		if value, ok := os.LookupEnv(name); ok && !strings.HasPrefix(value, "()") {
			vars[name] = value
		}
	}
	for name, value := range own {
		if runtime.GOOS == "windows" { // names differ in case only
			name = strings.ToUpper(name)
		}
		vars[name] = value
	}
	env := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, name+"="+vars[name])
	}
	return env
}

// lookCommand finds a command, in the server's own PATH if its env has one; a
// path is taken from the server's folder.
func lookCommand(command, folder string, own map[string]string) (string, error) {
	if strings.ContainsAny(command, `/\`) && !filepath.IsAbs(command) {
		command = filepath.Join(folder, command)
		if !strings.ContainsRune(command, filepath.Separator) {
			command = "." + string(filepath.Separator) + command // not a name on PATH
		}
	}
	path, ok := own["PATH"]
	if !ok || strings.ContainsAny(command, `/\`) {
		return exec.LookPath(command)
	}
	for _, dir := range filepath.SplitList(path) {
		if found, err := exec.LookPath(filepath.Join(dir, command)); err == nil && dir != "" {
			return found, nil
		}
	}
	return "", &exec.Error{Name: command, Err: exec.ErrNotFound}
}
