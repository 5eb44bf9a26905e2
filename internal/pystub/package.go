package pystub

import (
	"cmp"
	"slices"
	"strings"
)

// File is one file of a Package.
type File struct {
	// Path is relative and has forward slashes.
	Path string
	Text string
}

// Marker begins every file of a Package. A file without it is somebody's own.
const Marker = "# Written by ptc-mcp tools export; what is changed here is lost."

// Package is the tree of a Python package with the wrapper files of the tools:
// servers/<server>/<tool>.py, and what makes it a typed package. Files are
// sorted by path. present are servers whose folders are there already and stay
// part of the package.
func Package(tools []Tool, present ...string) []File {
	byServer := map[string][]Tool{}
	for _, t := range tools {
		byServer[t.Server] = append(byServer[t.Server], t)
	}
	files := []File{{"servers/py.typed", Marker + "\n"}}
	servers := slices.Clone(present)
	for server, tools := range byServer {
		servers = append(servers, server)
		files = append(files, serverFiles(server, tools)...)
	}
	slices.Sort(servers)
	var b strings.Builder
	b.WriteString(Marker + "\n\"\"\"The tools that programs call by way of ptc-mcp, by server.\"\"\"\n")
	if len(servers) > 0 {
		b.WriteString("\n")
	}
	for _, server := range slices.Compact(servers) {
		b.WriteString("from . import " + server + " as " + server + "\n")
	}
	files = append(files, File{"servers/__init__.py", b.String()})
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return files
}

func serverFiles(server string, tools []Tool) []File {
	slices.SortFunc(tools, func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })
	var files []File
	var imports strings.Builder
	modules := map[string]bool{"__init__": true, "__main__": true}
	names := map[string]bool{}
	for _, t := range tools {
		names[t.Name] = true
	}
	for _, t := range tools {
		module := t.Name
		// On some file systems names that differ in case alone are one.
		for modules[strings.ToLower(module)] {
			module += "_"
		}
		modules[strings.ToLower(module)] = true
		f := newFile(t)
		files = append(files, File{"servers/" + server + "/" + module + ".py", Marker + "\n" + f.text()})
		exported := []string{t.Name + " as " + t.Name}
		for _, name := range f.exported() {
			if !names[name] { // two tools may have types of the same name: the first one's is it
				names[name] = true
				exported = append(exported, name+" as "+name)
			}
		}
		slices.Sort(exported)
		imports.WriteString("from ." + module + " import " + strings.Join(exported, ", ") + "\n")
	}
	text := Marker + "\n\"\"\"The tools of the server " + server + ".\"\"\"\n\n" + imports.String()
	return append(files, File{"servers/" + server + "/__init__.py", text})
}

// exported are the names of the types that others may use.
func (f *file) exported() []string {
	names := []string{f.resultName}
	for _, c := range f.classes {
		if c.name != f.resultName {
			names = append(names, c.name)
		}
	}
	return names
}
