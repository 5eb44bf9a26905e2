package registry

import (
	"fmt"
)

// result is a CallToolResult taken apart in one pass, without decoding: every
// part is a slice of the bytes that came from the server.
type result struct {
	isError bool
	// structured is structuredContent; nil when absent or null.
	structured []byte
	// wrapped is x when structured is exactly {"result": x}; else nil.
	wrapped []byte
	blocks  []block
}

// block is one content block: either text or a placeholder for what is not
// text, both as JSON string literals.
type block struct {
	text, placeholder []byte
}

// parseResult takes raw apart, which must be valid UTF-8. What it does not know it keeps as a
// placeholder; it fails only when raw is no JSON object or is nested too
// deeply.
func parseResult(raw []byte) (*result, error) {
	r := &result{}
	_, err := eachMember(raw, skipSpace(raw, 0), func(key []byte, at int) (int, error) {
		switch string(key) {
		case "content":
			r.blocks = nil
			return r.parseContent(raw, at)
		case "structuredContent":
			return r.parseStructured(raw, at)
		}
		end, err := skipValue(raw, at)
		if err == nil && string(key) == "isError" {
			r.isError = string(raw[at:end]) == "true"
		}
		return end, err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (r *result) parseStructured(raw []byte, at int) (end int, err error) {
	r.structured, r.wrapped = nil, nil
	if at >= len(raw) || raw[at] != '{' {
		if end, err = skipValue(raw, at); err == nil && string(raw[at:end]) != "null" {
			r.structured = raw[at:end:end]
		}
		return end, err
	}
	members := 0
	end, err = eachMember(raw, at, func(key []byte, at int) (int, error) {
		end, err := skipValue(raw, at)
		if members++; err == nil && members == 1 && string(key) == "result" {
			r.wrapped = raw[at:end:end]
		}
		return end, err
	})
	if err != nil {
		return end, err
	}
	if members > 1 {
		r.wrapped = nil
	}
	r.structured = raw[at:end:end]
	return end, nil
}

func (r *result) parseContent(raw []byte, at int) (int, error) {
	if at < len(raw) && raw[at] == '[' {
		return eachElement(raw, at, func(at int) (int, error) { return r.parseBlock(raw, at) })
	}
	end, err := skipValue(raw, at)
	if err == nil && string(raw[at:end]) != "null" {
		r.blocks = []block{unknownBlock(raw[at:end])}
	}
	return end, err
}

// blockFields are the members of a content block that matter here, as raw
// values.
type blockFields struct {
	kind, text, mimeType, uri, resource []byte
}

func (r *result) parseBlock(raw []byte, at int) (int, error) {
	if at < len(raw) && raw[at] != '{' {
		end, err := skipValue(raw, at)
		if err == nil {
			r.blocks = append(r.blocks, unknownBlock(raw[at:end]))
		}
		return end, err
	}
	var f blockFields
	end, err := f.parse(raw, at)
	if err == nil {
		r.blocks = append(r.blocks, f.block())
	}
	return end, err
}

func (f *blockFields) parse(raw []byte, at int) (int, error) {
	return eachMember(raw, at, func(key []byte, at int) (int, error) {
		end, err := skipValue(raw, at)
		if err != nil {
			return end, err
		}
		switch value := raw[at:end]; string(key) {
		case "type":
			f.kind = value
		case "text":
			f.text = value
		case "mimeType":
			f.mimeType = value
		case "uri":
			f.uri = value
		case "resource":
			f.resource = value
		}
		return end, nil
	})
}

func (f *blockFields) block() block {
	kind := "unknown"
	if isString(f.kind) {
		kind = string(inner(f.kind))
	}
	switch kind {
	case "text", "unknown":
		if isString(f.text) {
			return block{text: f.text}
		}
	case "resource":
		var res blockFields
		if _, err := res.parse(f.resource, 0); err == nil {
			if isString(res.text) {
				return block{text: res.text}
			}
			return omitted(kind, res.uri, res.mimeType)
		}
	case "resource_link":
		return omitted(kind, f.uri)
	}
	return omitted(kind, f.mimeType)
}

func unknownBlock(value []byte) block {
	if isString(value) {
		return block{text: value}
	}
	return omitted("unknown")
}

// maxDetail bounds what a placeholder repeats of a block, in bytes.
const maxDetail = 500

// omitted makes a placeholder. kind is the inside of a string literal, details
// are raw values; what is too long or no string is left out.
func omitted(kind string, details ...[]byte) block {
	if len(kind) > maxDetail {
		kind = "unknown"
	}
	text := "[non-text content omitted: " + kind
	separator := " ("
	for _, d := range details {
		if isString(d) && len(d) > 2 && len(d) <= maxDetail {
			text += separator + string(inner(d))
			separator = ", "
		}
	}
	if separator == ", " {
		text += ")"
	}
	return block{placeholder: []byte(`"` + text + `]"`)}
}

// texts are the text blocks' literals.
func (r *result) texts() [][]byte {
	var texts [][]byte
	for _, b := range r.blocks {
		if b.text != nil {
			texts = append(texts, b.text)
		}
	}
	return texts
}

// sizeError says that a value is over the limit.
type sizeError struct{ size, limit int64 }

func (e *sizeError) Error() string {
	return fmt.Sprintf("value of %d bytes is over the limit of %d", e.size, e.limit)
}

func checkSize(size, limit int64) error {
	if limit > 0 && size > limit {
		return &sizeError{size, limit}
	}
	return nil
}
