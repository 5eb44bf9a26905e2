package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"strings"
)

// resultTools return results of every shape, right and wrong.
func resultTools() []*tool {
	fixed := func(name, description, result string) *tool {
		return newTool(definition{
			Name: name, Description: description, InputSchema: json.RawMessage(noArguments), Annotations: readOnly,
		}, false, func(*call) ([]byte, *rpcError) { return []byte(result), nil })
	}
	return []*tool{
		newTool(definition{
			Name: "blob", Description: "Return about so many bytes: of text, of structured content, or as structured records.",
			InputSchema: schema(`"size":{"type":"integer","minimum":0},"as":{"enum":["text","structured","records"],"default":"text"}`, "size"),
			Annotations: readOnly,
		}, false, blob),
		newTool(definition{
			Name: "list_items", Description: "Return a list as FastMCP does: wrapped, and each item as text as well.",
			InputSchema:  schema(`"count":{"type":"integer","minimum":0,"default":3}`),
			OutputSchema: json.RawMessage(`{"type":"object","properties":{"result":{"type":"array","items":{"type":"object"}}},"required":["result"],"x-fastmcp-wrap-result":true}`),
			Annotations:  readOnly,
		}, false, listItems),
		newTool(definition{
			Name: "image", Description: "Return a text and a small PNG image.", InputSchema: json.RawMessage(noArguments), Annotations: readOnly,
		}, false, picture),
		newTool(definition{
			Name: "bad_output", Description: "Declare an output schema and break it.", InputSchema: json.RawMessage(noArguments),
			OutputSchema: schema(`"count":{"type":"integer"}`, "count"), Annotations: readOnly,
		}, false, func(*call) ([]byte, *rpcError) { return structuredResult([]byte(`{"count":"many"}`)), nil }),
		newTool(definition{
			Name: "no_output", Description: "Declare an output schema and return text only.", InputSchema: json.RawMessage(noArguments),
			OutputSchema: schema(`"count":{"type":"integer"}`, "count"), Annotations: readOnly,
		}, false, func(*call) ([]byte, *rpcError) { return textResult("nothing structured"), nil }),
		fixed("json_text", "Return JSON as text.", `{"content":[{"type":"text","text":"{\"answer\": 42, \"list\": [1, 2]}"}]}`),
		fixed("with_notes", "Return structured content and a text that says something else.",
			`{"content":[{"type":"text","text":"and a word besides"}],"structuredContent":{"answer":42}}`),
		fixed("two_texts", "Return two texts.", `{"content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}`),
		fixed("nothing", "Return no content.", `{"content":[]}`),
		fixed("no_content", "Return an object without content, which the protocol does not allow.", `{}`),
		fixed("unknown_content", "Return content of an unknown type.", `{"content":[{"type":"hologram","depth":3}]}`),
		fixed("links", "Return a resource link and an embedded resource.",
			`{"content":[{"type":"resource_link","uri":"file:///a.txt","name":"a.txt"},{"type":"resource","resource":{"uri":"file:///b.txt","text":"in b"}}]}`),
		fixed("large_integers", "Return integers that no double can hold.",
			`{"content":[],"structuredContent":{"id":9007199254740993,"huge":123456789012345678901234567890}}`),
		fixed("surrogate", "Return a lone surrogate, escaped.", `{"content":[{"type":"text","text":"a\ud800b"}]}`),
		fixed("null_structured", "Return null as structured content.", `{"content":[{"type":"text","text":"null"}],"structuredContent":null}`),
		fixed("scalar_structured", "Return a number as structured content.", `{"content":[],"structuredContent":7}`),
		fixed("error_structured", "Fail, with structured content.",
			`{"isError":true,"content":[{"type":"text","text":"failed, see the code"}],"structuredContent":{"code":17}}`),
	}
}

const record = `{"id":12345,"name":"a record","tags":["red","green"],"score":1.5,"parent":null}`

func blob(c *call) ([]byte, *rpcError) {
	arguments := struct {
		Size int
		As   string
	}{As: "text"}
	if failure := c.decode(&arguments); failure != nil {
		return nil, failure
	}
	const most = 1 << 30
	if arguments.Size < 0 || arguments.Size > most {
		return errorResult("size must be from 0 to 1 GiB"), nil
	}
	filled := func(before, unit string, count int, after string) []byte {
		const piece = 1 << 12 // units at a time, which is quicker than one by one
		result := make([]byte, 0, len(before)+len(unit)*count+len(after))
		result = append(result, before...)
		for many := strings.Repeat(unit, piece); count >= piece; count -= piece {
			result = append(result, many...)
		}
		result = append(result, strings.Repeat(unit, count)...)
		return append(result, after...)
	}
	switch arguments.As {
	case "text":
		return filled(`{"content":[{"type":"text","text":"`, "x", arguments.Size, `"}]}`), nil
	case "structured":
		return filled(`{"content":[],"structuredContent":{"blob":"`, "x", arguments.Size, `"}}`), nil
	case "records":
		return filled(`{"content":[],"structuredContent":{"records":[`, record+",", arguments.Size/(len(record)+1), record+`]}}`), nil
	}
	return errorResult("as must be text, structured or records"), nil
}

func listItems(c *call) ([]byte, *rpcError) {
	arguments := struct{ Count int }{3}
	if failure := c.decode(&arguments); failure != nil {
		return nil, failure
	}
	items := []json.RawMessage{}
	content := []any{}
	for i := range arguments.Count {
		item := encode(map[string]any{"id": i, "name": "item " + strings.Repeat("i", i%5)})
		items = append(items, item)
		content = append(content, map[string]any{"type": "text", "text": string(item)})
	}
	return encode(map[string]any{"content": content, "structuredContent": map[string]any{"result": items}}), nil
}

func picture(*call) ([]byte, *rpcError) {
	img := image.NewRGBA(image.Rect(0, 0, 4, 4))
	img.Set(1, 1, color.RGBA{R: 255, A: 255})
	var data bytes.Buffer
	if err := png.Encode(&data, img); err != nil {
		return errorResult(err.Error()), nil
	}
	return encode(map[string]any{"content": []any{
		map[string]any{"type": "text", "text": "a picture"},
		map[string]any{"type": "image", "mimeType": "image/png", "data": base64.StdEncoding.EncodeToString(data.Bytes())},
	}}), nil
}
