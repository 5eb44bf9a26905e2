package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// style colours text for one stream, or leaves it as it is.
type style struct{ colours bool }

// newStyle colours only on a terminal that wants it (https://no-color.org).
func newStyle(w io.Writer) style {
	file, ok := w.(*os.File)
	return style{colours: ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd()))}
}

func (s style) paint(code, text string) string {
	if !s.colours || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) ok(text string) string   { return s.paint("32", text) }
func (s style) warn(text string) string { return s.paint("33", text) }
func (s style) fail(text string) string { return s.paint("31;1", text) }
func (s style) bold(text string) string { return s.paint("1", text) }
func (s style) dim(text string) string  { return s.paint("2", text) }
