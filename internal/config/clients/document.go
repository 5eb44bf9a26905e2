package clients

import (
	"bytes"
	"unicode/utf8"
)

// member is one key of an object in a file.
type member struct {
	name         string
	value        any // as encoding/json decodes it
	line, column int
}

// document is a file's content, whatever it is written in.
type document interface {
	// object returns the members of the object at the path, in the order of
	// the file. An absent one has none; what is no object is an error.
	object(path ...string) ([]member, *Problem)
	// value returns what is at the path; nil where nothing is.
	value(path ...string) any
	// children are the members of the object at the path, each as a document.
	children(path ...string) []child
}

// child is a member of an object that is an object itself.
type child struct {
	name string
	document
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// parse reads a file's content.
func parse(file File, data []byte) (document, *Problem) {
	data = bytes.TrimPrefix(data, byteOrderMark)
	if line, column := invalidText(data); line > 0 {
		return nil, &Problem{file.Path, line, column, "not a text in UTF-8; save the file as UTF-8"}
	}
	if file.Client.format == codexTOML {
		return parseTOML(file.Path, data)
	}
	return parseJSON(file.Path, data)
}

// invalidText finds the first byte that is no UTF-8.
func invalidText(data []byte) (line, column int) {
	if utf8.Valid(data) {
		return 0, 0
	}
	offset := 0
	for {
		r, width := utf8.DecodeRune(data[offset:])
		if r == utf8.RuneError && width <= 1 {
			return lineColumn(data, offset)
		}
		offset += width
	}
}

// lineColumn counts from 1; columns are bytes.
func lineColumn(data []byte, offset int) (line, column int) {
	before := data[:offset]
	return bytes.Count(before, []byte("\n")) + 1, offset - bytes.LastIndexByte(before, '\n')
}
