package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// EnvironmentVariable names the configuration file where no flag does.
const EnvironmentVariable = "PTC_MCP_CONFIG"

const fileName = "config.yaml"

// Find returns the configuration file to load, or "" when there is none. It
// takes the first of
//
//   - explicit, the value of --config;
//   - the value of PTC_MCP_CONFIG, unless empty;
//   - config.yaml in the working folder;
//   - ptc-mcp/config.yaml in the user's configuration folder: $XDG_CONFIG_HOME
//     where it is set, then os.UserConfigDir, then on macOS also ~/.config.
//
// A file named by one of the first two must exist.
func Find(explicit string) (string, error) {
	if explicit != "" {
		return mustExist(explicit, "--config")
	}
	if named := os.Getenv(EnvironmentVariable); named != "" {
		return mustExist(named, EnvironmentVariable)
	}
	for _, path := range append([]string{fileName}, userFiles()...) {
		switch info, err := os.Stat(path); {
		case err == nil && !info.IsDir():
			return path, nil
		case err != nil && !missing(err):
			return "", fmt.Errorf("configuration: %w", err)
		}
	}
	return "", nil
}

func mustExist(path, origin string) (string, error) {
	if _, err := os.Stat(path); missing(err) {
		return "", fmt.Errorf("configuration: %s names %s, which does not exist: %w", origin, quote(path), fs.ErrNotExist)
	} else if err != nil {
		return "", fmt.Errorf("configuration: %s: %w", origin, err)
	}
	return path, nil
}

// missing is true for a file that is not there, also because what should be
// its folder is a file (accounts with /dev/null as their home).
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// UserFile is the configuration file in the user's configuration folder: the
// one that is there, or else where one belongs.
func UserFile() (string, error) {
	files := userFiles()
	if len(files) == 0 {
		return "", errors.New("configuration: there is no configuration folder of the user; name the file with --config")
	}
	for _, path := range files {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, nil
		}
	}
	if runtime.GOOS == "darwin" {
		return files[len(files)-1], nil // ~/.config is what people look into
	}
	return files[0], nil
}

func userFiles() []string {
	var files []string
	add := func(folder string) { files = append(files, filepath.Join(folder, "ptc-mcp", fileName)) }
	if folder := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(folder) {
		add(folder)
	}
	// An account without a home has no such folder, which is no fault.
	if folder, err := os.UserConfigDir(); err == nil {
		add(folder)
	}
	if home, err := os.UserHomeDir(); err == nil && runtime.GOOS == "darwin" {
		add(filepath.Join(home, ".config"))
	}
	return files
}
