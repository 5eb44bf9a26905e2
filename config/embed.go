// Package configfiles holds the commented example of a configuration file and
// the JSON Schema that editors check such files with.
//
// It owns the text only: internal/config reads files and has the defaults, and
// its tests keep the three in step.
package configfiles

import _ "embed" // for the files below

// Example is config.example.yaml: every key, set to its default or commented
// out.
//
//go:embed config.example.yaml
var Example string

// Schema is ptc-mcp.schema.json, in JSON Schema draft 2020-12.
//
//go:embed ptc-mcp.schema.json
var Schema string
