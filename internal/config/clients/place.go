package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Place is a user's account and a project in it, as far as it decides where
// clients keep their files.
type Place struct {
	OS     string // as runtime.GOOS
	Home   string
	Folder string // the project: where ptc-mcp was started
	Getenv func(string) string
}

// Here is the account and the working folder of this process.
func Here() (Place, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return Place{}, fmt.Errorf("home folder: %w", err)
	}
	folder, err := os.Getwd()
	if err != nil {
		return Place{}, fmt.Errorf("working folder: %w", err)
	}
	return Place{OS: runtime.GOOS, Home: home, Folder: folder, Getenv: os.Getenv}, nil
}

// applications is the folder in which desktop programs keep their settings.
func (p Place) applications() string {
	switch p.OS {
	case "windows":
		if folder := p.Getenv("APPDATA"); folder != "" {
			return folder
		}
		return filepath.Join(p.Home, "AppData", "Roaming")
	case "darwin":
		return filepath.Join(p.Home, "Library", "Application Support")
	}
	if folder := p.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(folder) {
		return folder
	}
	return filepath.Join(p.Home, ".config")
}

// absolute is a path of a file, taken from the project's folder.
func (p Place) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(p.Folder, path)
}

// Files returns where the client keeps servers, those that win over others
// first. A project's files lie in place.Folder; whoever made the project may
// have written them.
func (c *Client) Files(place Place) []File {
	files := c.files(place)
	for i := range files {
		files[i].Client = c
	}
	return files
}

func claudeCodeFiles(p Place) []File {
	folder := p.Home
	if own := p.Getenv("CLAUDE_CONFIG_DIR"); own != "" {
		folder = p.absolute(own)
	}
	return []File{
		{Scope: Project, Path: filepath.Join(p.Folder, ".mcp.json")},
		{Scope: User, Path: filepath.Join(folder, ".claude.json")},
	}
}

func claudeDesktopFiles(p Place) []File {
	return []File{{Scope: User, Path: filepath.Join(p.applications(), "Claude", "claude_desktop_config.json")}}
}

func vscodeFiles(p Place) []File {
	files := []File{{Scope: Project, Path: filepath.Join(p.Folder, ".vscode", "mcp.json")}}
	for _, edition := range []string{"Code", "Code - Insiders", "VSCodium"} {
		files = append(files, File{Scope: User, Path: filepath.Join(p.applications(), edition, "User", "mcp.json")})
	}
	return files
}

func cursorFiles(p Place) []File { return inProjectAndHome(p, ".cursor", "mcp.json") }

func geminiFiles(p Place) []File { return inProjectAndHome(p, ".gemini", "settings.json") }

func codexFiles(p Place) []File {
	files := inProjectAndHome(p, ".codex", "config.toml")
	if own := p.Getenv("CODEX_HOME"); own != "" {
		files[1].Path = filepath.Join(p.absolute(own), "config.toml")
	}
	return files
}

func windsurfFiles(p Place) []File {
	return []File{{Scope: User, Path: filepath.Join(p.Home, ".codeium", "windsurf", "mcp_config.json")}}
}

func inProjectAndHome(p Place, folder, file string) []File {
	return []File{
		{Scope: Project, Path: filepath.Join(p.Folder, folder, file)},
		{Scope: User, Path: filepath.Join(p.Home, folder, file)},
	}
}

// ImportFiles returns the files that one item of an import list stands for: a
// client's name for its user's files, or the path of a file. A project's files
// are read only where they are named by path, as they may be somebody else's.
func ImportFiles(place Place, item string) ([]File, error) {
	if c := ByName(item); c != nil {
		var files []File
		for _, f := range c.Files(place) {
			if f.Scope == User {
				files = append(files, f)
			}
		}
		return files, nil
	}
	if !strings.ContainsAny(item, `./\`) {
		return nil, fmt.Errorf("%q is neither a client nor the path of a file", item)
	}
	path := place.absolute(item)
	for _, c := range All() {
		for _, f := range c.Files(place) {
			if filepath.Clean(f.Path) == path {
				return []File{f}, nil
			}
		}
	}
	return []File{{Client: byPath(path), Scope: Project, Path: path}}, nil
}

// byPath guesses whose format a file is in.
func byPath(path string) *Client {
	folder, name := filepath.Base(filepath.Dir(path)), filepath.Base(path)
	switch {
	case strings.EqualFold(filepath.Ext(name), ".toml"):
		return ByName("codex")
	case folder == ".vscode" || folder == "User":
		return ByName("vscode")
	case folder == ".cursor":
		return ByName("cursor")
	case folder == ".gemini":
		return ByName("gemini")
	case name == "mcp_config.json":
		return ByName("windsurf")
	case name == "claude_desktop_config.json":
		return ByName("claude-desktop")
	}
	return ByName("claude-code")
}
