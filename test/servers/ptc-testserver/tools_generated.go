package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// namedTools have names that are no identifiers, or become the same one.
// Each returns its own name.
func namedTools() []*tool {
	var tools []*tool
	for _, name := range []string{"get-user.v2", "1st", "class", "a-b", "a_b"} {
		tools = append(tools, newTool(definition{
			Name: name, Description: "Return this tool's name.", Annotations: readOnly,
			InputSchema: schema(`"user-id":{"type":"string"},"from":{"type":"string"}`),
		}, false, func(*call) ([]byte, *rpcError) { return textResult(name), nil }))
	}
	return tools
}

// inputSchemas are the shapes that the generated tools take in turn.
var inputSchemas = []string{
	noArguments,
	`{"type":"object","properties":{"owner":{"type":"string","description":"Account that owns the repository."},"repo":{"type":"string"},"page":{"type":"integer","minimum":1,"default":1}},"required":["owner","repo"],"additionalProperties":false}`,
	`{"type":"object","properties":{"state":{"type":"string","enum":["open","closed","all"],"default":"open"},"labels":{"type":"array","items":{"type":"string"},"maxItems":100},"since":{"type":"string","format":"date-time"}}}`,
	`{"type":"object","properties":{"filter":{"type":"object","properties":{"field":{"type":"string"},"range":{"type":"object","properties":{"from":{"type":"number"},"to":{"type":"number"}}}},"required":["field"]}},"required":["filter"]}`,
	`{"type":"object","properties":{"node":{"$ref":"#/$defs/node"}},"$defs":{"node":{"type":"object","properties":{"value":{"type":["string","null"]},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}}}},"required":["node"]}`,
	`{"type":"object","properties":{"target":{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}]},"dry_run":{"type":"boolean","default":false}},"required":["target"]}`,
	`{"type":"object","properties":{"rows":{"type":"array","items":{"type":"object","properties":{"key":{"type":"string","pattern":"^[a-z]+$"},"value":{}},"required":["key"]}},"options":{"type":"object","additionalProperties":{"type":"string"}}},"required":["rows"]}`,
}

// generatedTools are n tools for measurements with large catalogues. Each
// returns its own name.
func generatedTools(n int) []*tool {
	verbs := []string{"get", "list", "create", "update", "delete", "search"}
	nouns := []string{"issue", "pull_request", "commit", "customer", "invoice", "ticket", "file", "message"}
	tools := make([]*tool, 0, n)
	for i := range n {
		verb, noun := verbs[i%len(verbs)], nouns[i/len(verbs)%len(nouns)]
		name := fmt.Sprintf("%s_%s_%04d", verb, noun, i)
		d := definition{
			Name: name,
			Description: fmt.Sprintf("%s%s one %s of collection %d.\n\n%s", strings.ToUpper(verb[:1]), verb[1:], noun, i,
				strings.Repeat("Returns the record with its fields as the service has them. ", 1+i%5)),
			InputSchema: json.RawMessage(inputSchemas[i%len(inputSchemas)]),
			Annotations: writes,
		}
		if i%len(verbs) < 2 {
			d.Annotations = readOnly
		}
		if i%3 == 0 {
			d.OutputSchema = schema(`"tool":{"type":"string"}`, "tool")
		}
		result := structuredResult(encode(map[string]string{"tool": name}))
		tools = append(tools, newTool(d, false, func(*call) ([]byte, *rpcError) { return result, nil }))
	}
	return tools
}

// oddSchemaTools have schemas that are valid JSON Schema, or nearly, and that
// decoders into fixed types stumble over. Each returns its own name.
func oddSchemaTools() []*tool {
	odd := func(name, input, output string) *tool {
		return newTool(definition{
			Name: name, Description: "Return this tool's name.", Annotations: readOnly,
			InputSchema: json.RawMessage(input), OutputSchema: json.RawMessage(output),
		}, false, func(*call) ([]byte, *rpcError) { return textResult(name), nil })
	}
	return []*tool{
		odd("odd_type_list", `{"type":["object","null"],"properties":{"a":{"type":"string"}}}`, ""),
		odd("odd_boolean", `true`, ""),
		odd("odd_empty", `{}`, ""),
		odd("odd_property", `{"type":"object","properties":{"anything":true,"nothing":false}}`, ""),
		odd("odd_keywords", `{"type":"object","properties":{},"unevaluatedProperties":false,"x-vendor":{"id":9007199254740993}}`, ""),
		odd("odd_output", noArguments, `{"anyOf":[{"type":"object"},{"type":"array"}]}`),
		odd("odd_reference", `{"type":"object","properties":{"a":{"$ref":"#/$defs/missing"}}}`, ""),
	}
}
