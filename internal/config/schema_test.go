package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	configfiles "github.com/ptc-mcp/ptc-mcp/config"
)

// notVisible marks the invalid files that a schema cannot find fault with.
const notVisible = "# not visible to a schema"

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(configfiles.Schema))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("ptc-mcp.schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("ptc-mcp.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// asEditor reads YAML as an editor does before it looks at the schema.
func asEditor(t *testing.T, data []byte) (any, error) {
	t.Helper()
	var value any
	if err := yaml.Unmarshal(data, &value); err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
}

func TestTheSchemaAcceptsTheExampleAndEveryValidFile(t *testing.T) {
	schema := compiledSchema(t)
	check := func(name string, data []byte) {
		value, err := asEditor(t, data)
		if err == nil {
			err = schema.Validate(value)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	check("the example", []byte(configfiles.Example))
	check("the example without comment signs", uncommented(t))
	for _, file := range testFiles(t, "valid") {
		check(file, readFile(t, file))
	}
}

func TestTheSchemaRejectsInvalidFilesWhereItCanSeeTheFault(t *testing.T) {
	schema := compiledSchema(t)
	for _, file := range testFiles(t, "invalid") {
		data := readFile(t, file)
		value, err := asEditor(t, data)
		if err != nil {
			continue // the editor cannot read it either
		}
		err = schema.Validate(value)
		if hidden := bytes.HasPrefix(data, []byte(notVisible)); hidden == (err != nil) {
			t.Errorf("%s: marked as not visible to a schema: %t, but the schema says: %v", filepath.Base(file), hidden, err)
		}
	}
}

// uncommented is the example with every commented-out key in place: lines such
// as "#  key: value" and "  # key: value".
func uncommented(t *testing.T) []byte {
	t.Helper()
	var lines []string
	for line := range strings.Lines(configfiles.Example) {
		trimmed := strings.TrimLeft(line, " ")
		switch {
		case strings.HasPrefix(line, "#  "):
			line = line[1:]
		case strings.HasPrefix(trimmed, "# ") && trimmed != line:
			line = strings.Replace(line, "# ", "", 1)
		}
		for _, empty := range []string{"servers: []", "import: []", "tools: {}", "python: {}"} {
			if strings.TrimSpace(line) == empty {
				line = strings.Fields(line)[0] + "\n"
			}
		}
		if strings.Contains(line, " block:") {
			continue // it cannot stand beside allow
		}
		lines = append(lines, line)
	}
	return []byte(strings.Join(lines, ""))
}

func TestTheExampleShowsEveryKeyAndLoadsUncommented(t *testing.T) {
	environment := map[string]string{"HOME": "/home/user", "TRACKER_TOKEN": "token", "WIKI_SECRET": "secret"}
	data := uncommented(t)
	cfg, err := parse("", data, func(name string) (string, bool) {
		value, ok := environment[name]
		return value, ok
	})
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, data)
	}
	if len(cfg.Servers) != 4 || len(cfg.Tools.Allow) != 2 || len(cfg.Import) != 2 || cfg.Python.Path == "" || cfg.Docker.Host == "" {
		t.Errorf("not everything was uncommented: %+v", cfg)
	}
	for path := range keys(reflect.TypeFor[Config](), "") {
		key := path[strings.LastIndex(path, ".")+1:]
		if !strings.Contains(configfiles.Example, key+":") {
			t.Errorf("the example does not show %s", path)
		}
	}
}

func TestTheReferenceNamesEveryKey(t *testing.T) {
	reference := string(readFile(t, "../../docs/configuration.md"))
	for path, field := range keys(reflect.TypeFor[Config](), "") {
		key := path[strings.LastIndex(path, ".")+1:]
		if !strings.Contains(reference, "`"+key+"`") {
			t.Errorf("docs/configuration.md does not name %s", path)
		}
		for _, word := range strings.FieldsFunc(field.Tag.Get("enum"), func(r rune) bool { return r == ',' }) {
			if !strings.Contains(reference, "`"+word+"`") {
				t.Errorf("docs/configuration.md does not name the value %s of %s", word, path)
			}
		}
	}
}

// keys returns every key of a structure by its path in the schema's terms.
func keys(structure reflect.Type, prefix string) map[string]reflect.StructField {
	found := map[string]reflect.StructField{}
	for field := range structure.Fields() {
		key := field.Tag.Get("yaml")
		if key == "-" {
			continue
		}
		path := prefix + key
		found[path] = field
		switch inner := field.Type; {
		case inner.Kind() == reflect.Struct:
			maps.Copy(found, keys(inner, path+"."))
		case inner == reflect.TypeFor[[]Server]():
			maps.Copy(found, keys(inner.Elem(), path+"."))
		}
	}
	return found
}

// property is what the tests need of a schema.
type property struct {
	Type             any                 `json:"type"`
	Description      string              `json:"description"`
	Ref              string              `json:"$ref"`
	Properties       map[string]property `json:"properties"`
	Items            *property           `json:"items"`
	AnyOf            []property          `json:"anyOf"`
	Default          any                 `json:"default"`
	Enum             []string            `json:"enum"`
	Minimum          *float64            `json:"minimum"`
	ExclusiveMinimum *float64            `json:"exclusiveMinimum"`
	Maximum          *float64            `json:"maximum"`
	Additional       any                 `json:"additionalProperties"`
	Defs             map[string]property `json:"$defs"`
}

func schemaProperties(t *testing.T) map[string]property {
	t.Helper()
	var root property
	if err := json.Unmarshal([]byte(configfiles.Schema), &root); err != nil {
		t.Fatal(err)
	}
	found := map[string]property{}
	var walk func(p property, prefix string)
	walk = func(p property, prefix string) {
		if p.Additional != false {
			t.Errorf("the schema accepts unknown keys in %q", prefix)
		}
		for key, child := range p.Properties {
			found[prefix+key] = child
			if len(child.Properties) > 0 {
				walk(child, prefix+key+".")
			}
			if child.Items != nil && child.Items.Ref == "#/$defs/server" {
				walk(root.Defs["server"], prefix+key+".")
			}
		}
	}
	walk(root, "")
	return found
}

func TestTheSchemaHasTheKeysWordsAndDefaultsOfTheTypes(t *testing.T) {
	properties := schemaProperties(t)
	types := keys(reflect.TypeFor[Config](), "")
	if got, want := slices.Sorted(maps.Keys(properties)), slices.Sorted(maps.Keys(types)); !slices.Equal(got, want) {
		t.Fatalf("the schema has the keys\n%v\nthe types\n%v", got, want)
	}
	for path, p := range properties {
		if p.Description == "" {
			t.Errorf("%s has no description", path)
		}
		if words := strings.Join(p.Enum, ","); words != types[path].Tag.Get("enum") {
			t.Errorf("%s may be %s in the schema, %s in the types", path, words, types[path].Tag.Get("enum"))
		}
		switch path {
		case "servers.name", "servers.transport", "servers.command":
			continue // required, or derived from what is
		}
		if len(p.Properties) > 0 {
			continue // a section's defaults are those of its keys
		}
		if p.Default == nil {
			if value := fieldOf(t, withKey(path, ""), path); !value.IsZero() {
				t.Errorf("%s has no default in the schema, but is %v", path, value)
			}
			continue
		}
		value, err := json.Marshal(p.Default)
		if err != nil {
			t.Fatal(err)
		}
		got, want := fieldOf(t, withKey(path, string(value)), path), fieldOf(t, withKey(path, ""), path)
		if !reflect.DeepEqual(got.Interface(), want.Interface()) {
			t.Errorf("%s is %v by the schema, %v by default", path, got, want)
		}
	}
}

func TestTheSchemaHasTheBoundsOfTheLoader(t *testing.T) {
	accepts := func(path string, value float64) bool {
		_, err := parse("", []byte(withKey(path, strconv.FormatFloat(value, 'f', -1, 64))), lookup)
		return err == nil
	}
	bounded := 0
	for path, p := range schemaProperties(t) {
		if len(p.AnyOf) > 0 {
			p = p.AnyOf[0]
		}
		step := 1.0
		if p.Type == "number" {
			step = 0.001
		}
		if p.Minimum != nil {
			if !accepts(path, *p.Minimum) || accepts(path, *p.Minimum-step) {
				t.Errorf("%s: the least is not %v", path, *p.Minimum)
			}
			bounded++
		}
		if p.ExclusiveMinimum != nil {
			if accepts(path, *p.ExclusiveMinimum) || !accepts(path, *p.ExclusiveMinimum+step) {
				t.Errorf("%s: the least is not above %v", path, *p.ExclusiveMinimum)
			}
			bounded++
		}
		if p.Maximum != nil {
			if !accepts(path, *p.Maximum) || accepts(path, *p.Maximum+step) {
				t.Errorf("%s: the most is not %v", path, *p.Maximum)
			}
		}
		if numeric := p.Type == "number" || p.Type == "integer"; numeric && p.Maximum == nil {
			t.Errorf("%s has no bounds in the schema", path)
		}
	}
	if bounded < 10 {
		t.Errorf("only %d keys with bounds found", bounded)
	}
}

// remoteKeys are those that a server has only beside a url.
var remoteKeys = map[string]bool{"headers": true, "headers_command": true, "headers_cache_seconds": true, "auth": true, "ca_file": true}

// withKey is a file with the key of the path set to value, or without the key
// when value is empty.
func withKey(path, value string) string {
	section, key, nested := strings.Cut(path, ".")
	pair := ""
	if value != "" {
		pair = key + ": " + value
	}
	switch {
	case !nested && value == "":
		return ""
	case !nested:
		return section + ": " + value
	case section == "servers":
		if inner, last, nested := strings.Cut(key, "."); nested && value != "" {
			pair = inner + ": {" + last + ": " + value + "}"
		}
		switch {
		case key == "headers_cache_seconds":
			pair = strings.TrimPrefix(pair+", headers_command: [d]", ", ")
			fallthrough
		case remoteKeys[strings.Split(key, ".")[0]]:
			return "servers: [{name: a, url: 'https://b', " + pair + "}]"
		}
		return "servers: [{name: a, command: b, " + pair + "}]"
	}
	return section + ": {" + pair + "}"
}

// fieldOf loads a file and returns the field of the path.
func fieldOf(t *testing.T, file, path string) reflect.Value {
	t.Helper()
	cfg, err := parse("", []byte(file), lookup)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	value := reflect.ValueOf(*cfg)
	for key := range strings.SplitSeq(path, ".") {
		if value.Kind() == reflect.Slice {
			value = value.Index(0)
		}
		for field, inner := range value.Fields() {
			if field.Tag.Get("yaml") == key {
				value = inner
				break
			}
		}
	}
	return value
}
