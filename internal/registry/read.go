package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// read is the value of a resource for a program: the text of a resource in one
// part, parsed where its media type says that it is JSON; else the parts, each
// an object with uri, mimeType and text or blob (base64).
func (o *offering) read(ctx context.Context, server, uri string, limit int64) (json.RawMessage, error) {
	if uri == "" {
		return nil, tool.Errorf(o.name, tool.KindArguments, "uri is missing; list_resources() lists what there is")
	}
	v, err := o.one(ctx, resourcesOf, server, uri)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	raw, err := v.ReadResource(ctx, uri)
	if err != nil {
		return nil, o.at(v).callError(ctx, err, time.Since(started))
	}
	value, err := contentsValue(raw, limit)
	if err != nil {
		return nil, o.at(v).badResult(err)
	}
	return value, nil
}

// contentsValue is what read returns for a ReadResourceResult.
func contentsValue(raw []byte, limit int64) (json.RawMessage, error) {
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	contents := []byte("[]")
	var parts []blockFields
	if _, err := eachMember(raw, skipSpace(raw, 0), func(key []byte, at int) (int, error) {
		end, err := skipValue(raw, at)
		if err != nil || string(key) != "contents" {
			return end, err
		}
		contents, parts = raw[at:end:end], nil
		if raw[at] != '[' {
			return end, nil
		}
		return eachElement(raw, at, func(at int) (int, error) {
			var part blockFields
			if raw[at] != '{' {
				parts = append(parts, part)
				return skipValue(raw, at)
			}
			end, err := part.parse(raw, at)
			parts = append(parts, part)
			return end, err
		})
	}); err != nil {
		return nil, err
	}
	if len(parts) != 1 || !isString(parts[0].text) {
		return contents, nil
	}
	if isJSONType(parts[0].mimeType) {
		return literalValue(parts[0].text, limit)
	}
	return parts[0].text, nil
}

// isJSONType reports whether a media type, as a JSON literal, is that of JSON.
func isJSONType(literal []byte) bool {
	if !isString(literal) {
		return false
	}
	media, _, _ := strings.Cut(string(inner(literal)), ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == "application/json" || strings.HasSuffix(media, "+json")
}

// prompt is a GetPromptResult, as the server wrote it. Arguments of a prompt
// are strings; other values are sent as their JSON text.
func (o *offering) prompt(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
	name := stringMember(arguments, "name")
	if name == "" {
		return nil, tool.Errorf(o.name, tool.KindArguments, "name is missing; list_prompts() lists what there is")
	}
	given, err := promptArguments(arguments)
	if err != nil {
		return nil, tool.Errorf(o.name, tool.KindArguments, "arguments must be an object of strings, for example {\"topic\": \"tea\"}")
	}
	v, err := o.one(ctx, promptsOf, stringMember(arguments, "server"), name)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	raw, err := v.GetPrompt(ctx, name, given)
	if err != nil {
		return nil, o.at(v).callError(ctx, err, time.Since(started))
	}
	return raw, nil
}

func promptArguments(arguments json.RawMessage) (map[string]string, error) {
	var call struct {
		Arguments map[string]json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(arguments, &call); err != nil {
		return nil, err
	}
	given := make(map[string]string, len(call.Arguments))
	for key, value := range call.Arguments {
		if isString(value) {
			given[key] = string(unquote(value))
		} else {
			given[key] = string(value)
		}
	}
	return given, nil
}
