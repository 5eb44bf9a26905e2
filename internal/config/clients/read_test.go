package clients

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ptc-mcp/ptc-mcp/internal/config"
)

var update = flag.Bool("update", false, "write the golden files anew")

// place copies a folder of testdata to where its paths are known.
func place(t *testing.T, name string) Place {
	t.Helper()
	root := t.TempDir()
	source := filepath.Join("testdata", name)
	p := Place{OS: "linux", Home: filepath.Join(root, "home"), Folder: filepath.Join(root, "project"), Getenv: func(string) string { return "" }}
	err := filepath.WalkDir(source, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		relative, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if relative == "os" {
			p.OS = strings.TrimSpace(string(data))
		}
		data = bytes.ReplaceAll(data, []byte("@PROJECT@"), []byte(p.Folder))
		data = bytes.ReplaceAll(data, []byte("@ABOVE@"), []byte(root))
		target := filepath.Join(root, relative)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func readEverything(p Place) []Source {
	var sources []Source
	for _, c := range All() {
		sources = append(sources, ReadAll(p, c.Files(p))...)
	}
	return sources
}

// describe writes everything that was read, one line for each thing.
func describe(sources []Source) string {
	var b strings.Builder
	for _, s := range sources {
		fmt.Fprintf(&b, "%s %s %s\n", s.Client.Name, s.Scope, s.Path)
		if s.Problem != nil {
			fmt.Fprintf(&b, "  broken: %v\n", s.Problem)
		}
		if s.Elsewhere > 0 {
			fmt.Fprintf(&b, "  for other projects: %d\n", s.Elsewhere)
		}
	}
	for _, e := range Merge(sources) {
		fmt.Fprintf(&b, "%s %q (%s) %d:%d\n", e.File.Client.Name, e.Name, e.Scope, e.Line, e.Column)
		if e.Usable() {
			node := reflect.ValueOf(e.Server)
			for field, value := range node.Fields() {
				if !value.IsZero() && field.Tag.Get("yaml") != "list_timeout_seconds" {
					fmt.Fprintf(&b, "    %s: %v\n", field.Tag.Get("yaml"), value)
				}
			}
			if _, err := config.Resolve(e.Server, func(string) (string, bool) { return "set", true }); err != nil {
				fmt.Fprintf(&b, "    config: %v\n", err)
			}
		} else {
			fmt.Fprintf(&b, "    skipped: %s\n", e.Problem)
		}
		for _, note := range e.Notes {
			fmt.Fprintf(&b, "    note: %s\n", note)
		}
	}
	return b.String()
}

func TestFilesAreReadAsTheirGoldenFilesSay(t *testing.T) {
	folders, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		t.Run(folder.Name(), func(t *testing.T) {
			p := place(t, folder.Name())
			got := describe(readEverything(p))
			got = strings.NewReplacer(p.Home, "~", p.Folder, "PROJECT", filepath.Dir(p.Folder), "ABOVE").Replace(got)
			golden := filepath.Join("testdata", folder.Name()+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestTheClientsAreThoseOfTheConfiguration(t *testing.T) {
	var names []string
	for _, c := range All() {
		names = append(names, c.Name)
	}
	if !slices.Equal(names, config.Clients()) {
		t.Errorf("here %v, there %v", names, config.Clients())
	}
}
