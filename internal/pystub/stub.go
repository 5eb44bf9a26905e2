package pystub

import (
	"maps"
	"slices"
	"strings"
)

// Stub is the tool's wrapper file: the classes of its arguments and of its
// result, and the function with its docstring. The function's body only says
// where the tool can be called; a program's tools do the work.
//
// The class or alias of the result is called ResultName(t). Where the server
// declares no output schema and none was inferred, it is Any.
func Stub(t Tool) string { return newFile(t).text() }

func (f *file) text() string {
	used := map[string]bool{}
	var body strings.Builder
	for _, c := range f.classes {
		f.writeClass(&body, c, used)
	}
	f.writeResultAlias(&body, used)
	f.writeFunction(&body, used)

	var b strings.Builder
	b.WriteString("# " + printable(f.tool.Callable, maxNameBytes) + ", typed after the schemas of its server.\n")
	if f.hidesError() {
		b.WriteString("from builtins import " + notImplemented + " as _" + notImplemented + "\n")
	}
	if f.qualified {
		b.WriteString("import builtins\nimport typing\n")
	} else if len(used) > 0 {
		b.WriteString("from typing import " + strings.Join(slices.Sorted(maps.Keys(used)), ", ") + "\n")
	}
	b.WriteString("\n__all__ = [" + quote(f.resultName) + ", " + quote(f.tool.Name) + "]\n")
	b.WriteString(body.String())
	return b.String()
}

// ResultName is the name that Stub gives to the type of the tool's result.
func ResultName(t Tool) string { return newFile(t).resultName }

const notImplemented = "NotImplementedError"

// inferredNote marks types that no server has declared.
const inferredNote = "Inferred from earlier results; the server declares no output schema: keys may be missing, or have other types."

func (f *file) writeResultAlias(b *strings.Builder, used map[string]bool) {
	if f.result.kind == kindClass && f.result.class.name == f.resultName {
		return
	}
	text := f.writer(used).write(f.result)
	b.WriteString("\n")
	switch {
	case f.tool.OutputInferred:
		b.WriteString("# " + inferredNote + "\n")
	case len(f.tool.Output) == 0:
		text += "  # the server declares no output schema"
	}
	b.WriteString(f.resultName + " = " + text + "\n")
}

func (f *file) writeFunction(b *strings.Builder, used map[string]bool) {
	b.WriteString("\n\nasync def " + f.tool.Name + "(")
	for i, p := range f.parameters {
		if i == 0 {
			b.WriteString("\n")
			if !p.variadic {
				b.WriteString("    *,\n")
			}
		}
		b.WriteString("    " + p.declaration(f.writer(used)))
		b.WriteString(",\n")
	}
	b.WriteString(") -> " + f.resultText(used) + ":\n")
	b.WriteString(docstring(f.docLines(), "    "))
	// This error alone makes mypy accept ... as a default.
	raise := notImplemented
	if f.hidesError() {
		raise = "_" + notImplemented
	}
	b.WriteString("    raise " + raise + "('" + f.tool.Name + " can be called only in a program that ptc-mcp runs')\n")
}

// hidesError reports whether the function's name, or a parameter's, hides the
// error that its body raises.
func (f *file) hidesError() bool {
	return f.tool.Name == notImplemented ||
		slices.ContainsFunc(f.parameters, func(p parameter) bool { return p.id == notImplemented })
}

// docLines is the function's docstring.
func (f *file) docLines() []string {
	description := f.tool.Description
	if strings.TrimSpace(description) == "" {
		description = f.tool.Title
	}
	lines := textLines(description, maxDescription)
	if len(lines) == 0 {
		lines = []string{f.tool.Name}
	}
	var arguments []string
	for _, p := range f.parameters {
		notes := p.notes
		if p.id != p.name && !p.variadic {
			notes = strings.TrimSpace("sent as " + quote(p.name) + ". " + notes)
		}
		if notes != "" {
			arguments = append(arguments, "    "+p.id+": "+notes)
		}
	}
	if len(arguments) > 0 {
		lines = append(append(lines, "", "Args:"), arguments...)
	}
	if len(f.unnamed) > 0 {
		lines = append(lines, "", "Not to be written as keywords; pass all arguments as one dict, or these as **{...}:")
		for _, p := range f.unnamed {
			word := "optional"
			if p.required {
				word = "required"
			}
			lines = append(lines, "    "+quote(clip(p.name, maxNameBytes))+" ("+word+")")
		}
	}
	if doc := oneLine(f.resultDoc, maxNotes); doc != "" {
		lines = append(lines, "", "Returns: "+doc)
	}
	if f.tool.OutputInferred {
		lines = append(lines, "", "The type of the result: "+strings.ToLower(inferredNote[:1])+inferredNote[1:])
	}
	switch {
	case f.tool.ReadOnly != nil && *f.tool.ReadOnly:
		lines = append(lines, "", "Read-only: it changes nothing.")
	case f.tool.Destructive != nil && *f.tool.Destructive:
		lines = append(lines, "", "Destructive: it may delete or overwrite.")
	}
	return lines
}

// writeClass writes a TypedDict. Before Python 3.11 a class has either required
// keys or optional ones, so both kinds make two classes, one based on the other.
func (f *file) writeClass(b *strings.Builder, c *class, used map[string]bool) {
	w := typeWriter{before: c.index, qualified: f.qualified, used: used}
	var required, optional []field
	plain := true
	for _, fd := range c.fields {
		plain = plain && isPlainKey(fd.name)
		if fd.required {
			required = append(required, fd)
		} else {
			optional = append(optional, fd)
		}
	}
	write := w.writeClassBody
	if !plain {
		write = w.writeDictBody
	}
	base := w.typing("TypedDict")
	b.WriteString("\n")
	switch {
	case len(optional) == 0:
		write(b, c.name, base, true, required, f.classDoc(c))
	case len(required) == 0:
		write(b, c.name, base, false, optional, f.classDoc(c))
	case plain:
		first := f.helper(c.name, "Required")
		write(b, first, base, true, required, nil)
		b.WriteString("\n")
		write(b, c.name, first, false, optional, f.classDoc(c))
	default:
		first, second := f.helper(c.name, "Required"), f.helper(c.name, "Optional")
		write(b, first, base, true, required, nil)
		b.WriteString("\n")
		write(b, second, base, false, optional, nil)
		b.WriteString("\n\nclass " + c.name + "(" + first + ", " + second + "):\n")
		if doc := f.classDoc(c); len(doc) > 0 {
			b.WriteString(docstring(doc, "    "))
		} else {
			b.WriteString("    pass\n")
		}
	}
}

// helper names a base of a class.
func (f *file) helper(name, suffix string) string {
	name = unique("_"+name+suffix, f.taken)
	f.names[name] = true
	return name
}

func (f *file) classDoc(c *class) []string {
	lines := textLines(c.doc, maxDescription)
	if f.tool.OutputInferred && c.name == f.resultName {
		lines = append(lines, inferredNote)
	}
	if c.open {
		lines = append(lines, "Other keys are possible.")
	}
	return lines
}

func (w typeWriter) writeClassBody(b *strings.Builder, name, base string, total bool, fields []field, doc []string) {
	b.WriteString("\nclass " + name + "(" + base)
	if !total {
		b.WriteString(", total=False")
	}
	b.WriteString("):\n")
	if len(doc) > 0 {
		b.WriteString(docstring(doc, "    ") + "\n")
	}
	for _, fd := range fields {
		writeNotes(b, fd.notes)
		b.WriteString("    " + fd.name + ": " + w.write(fd.typ) + "\n")
	}
}

// writeDictBody writes a class with keys that are no identifiers.
func (w typeWriter) writeDictBody(b *strings.Builder, name, base string, total bool, fields []field, doc []string) {
	b.WriteString("\n")
	for _, line := range doc {
		b.WriteString(strings.TrimRight("# "+printable(strings.TrimSpace(line), maxDescription), " ") + "\n")
	}
	b.WriteString(name + " = " + base + "('" + name + "', {\n")
	for _, fd := range fields {
		writeNotes(b, fd.notes)
		b.WriteString("    " + quote(fd.name) + ": " + w.write(fd.typ) + ",\n")
	}
	b.WriteString("}")
	if !total {
		b.WriteString(", total=False")
	}
	b.WriteString(")\n")
}

func writeNotes(b *strings.Builder, notes string) {
	if notes != "" {
		b.WriteString("    # " + notes + "\n")
	}
}
