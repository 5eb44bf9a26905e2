package pystub

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write the golden files anew")

// realTools are the tools of servers that people use, as they declare them but
// without descriptions.
func realTools(t testing.TB) []Tool {
	t.Helper()
	paths, err := filepath.Glob("testdata/servers/*.json")
	if err != nil || len(paths) < 10 {
		t.Fatalf("servers: %d, %v", len(paths), err)
	}
	var tools []Tool
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var list struct {
			Tools []struct {
				Name                      string
				InputSchema, OutputSchema json.RawMessage
				Annotations               struct{ ReadOnlyHint, DestructiveHint *bool }
			}
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		server := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(path), ".json"), "-", "_")
		for _, tool := range list.Tools {
			name, _ := identifier(tool.Name)
			tools = append(tools, Tool{
				Callable: "mcp__" + server + "__" + name, Server: server, Name: name, Description: "What it does.",
				Input: tool.InputSchema, Output: tool.OutputSchema,
				ReadOnly: tool.Annotations.ReadOnlyHint, Destructive: tool.Annotations.DestructiveHint,
			})
		}
	}
	return tools
}

// oddTools are tools that try to break out of what they are written into, or to
// make it grow without end.
func oddTools() []Tool {
	nasty := []string{
		`"""`, `""" + exit() + """`, `\`, `\"""`, `a"`, `a\`, "a\nb", "a\r\nb\rc", "\x00\x01\x1b[31m", "\u2028\u2029\u0085", "\u202e reversed", "\U0001F600 é 日本", "\xff\xfe", "tab\tand\fform", `'''`, `# comment`, `{x}`, `%s`, `\N{DASH}`, `\u12`, "\n\n\n", strings.Repeat("x", 20000), strings.Repeat(`"`, 9000),
	}
	var tools []Tool
	add := func(input, output string) {
		name := "odd_" + strconv.Itoa(len(tools))
		tools = append(tools, Tool{Callable: "mcp__odd__" + name, Server: "odd", Name: name, Input: json.RawMessage(input), Output: json.RawMessage(output)})
	}
	for _, text := range nasty {
		quoted, _ := json.Marshal(text)
		q := string(quoted)
		add(`{"type":"object","description":`+q+`,"properties":{`+q+`:{"type":"string","description":`+q+`,"default":`+q+`,"format":`+q+`,"pattern":`+q+`},"e":{"enum":[`+q+`,"x"],"default":`+q+`}},"required":[`+q+`]}`,
			`{"type":"object","description":`+q+`,"properties":{`+q+`:{"type":"object","title":`+q+`,"properties":{`+q+`:{"const":`+q+`,"description":`+q+`}}},"plain":{"type":"string","description":`+q+`}},"required":[`+q+`]}`)
		last := &tools[len(tools)-1]
		last.Description, last.Title = text, text
	}
	for _, key := range []string{"str", "int", "Any", "List", "None", "self", "__init__", "__slots__", "__x", "x__", "TypedDict", "NotImplementedError", "print", "extra", "type", "match", "_"} {
		q := strconv.Quote(key)
		object := `{"type":"object","properties":{` + q + `:{"type":"string"},"other":{"type":["integer","null"]},"list":{"type":"array","items":{"type":"object","properties":{` + q + `:{"type":"array","items":{}}}}}},"required":[` + q + `]}`
		add(object, object)
		tools = append(tools, Tool{Callable: "mcp__odd__" + key, Server: "odd", Name: strings.ReplaceAll(key, "None", "None_"), Input: json.RawMessage(object), Output: json.RawMessage(object)})
	}
	deep := strings.Repeat(`{"type":"array","items":`, 150) + `{}` + strings.Repeat(`}`, 150)
	add(`{"properties":{"a":`+deep+`}}`, deep)
	objects := strings.Repeat(`{"type":"object","properties":{"a":`, 90) + `{}` + strings.Repeat(`}}`, 90)
	add(objects, objects)
	// Each definition refers to the next one twice.
	var doubling strings.Builder
	for i := range 60 {
		n := strconv.Itoa(i + 1)
		doubling.WriteString(`"d` + strconv.Itoa(i) + `":{"anyOf":[{"type":"object","properties":{"l":{"$ref":"#/$defs/d` + n + `"}}},{"allOf":[{"$ref":"#/$defs/d` + n + `"},{"properties":{"r":{"$ref":"#/$defs/d` + n + `"}}}]}]},`)
	}
	add(`{"$ref":"#/$defs/d0","$defs":{`+doubling.String()+`"d60":{"type":"string"}}}`, `{"$ref":"#/$defs/d0","$defs":{`+doubling.String()+`"d60":{"type":"string"}}}`)
	var wide, values strings.Builder
	for i := range 3000 {
		wide.WriteString(`"property_` + strconv.Itoa(i) + `":{"type":"object","properties":{"x":{"type":"string","description":"` + strings.Repeat("d", 900) + `"}}},`)
		values.WriteString(`"value ` + strconv.Itoa(i) + `",`)
	}
	add(`{"properties":{`+wide.String()+`"z":{}}}`, `{"type":"object","properties":{`+wide.String()+`"z":{}}}`)
	add(`{"properties":{"e":{"enum":[`+values.String()+`1]}}}`, `{"enum":[`+values.String()+`1.5]}`)
	add(`{"properties":{"a":{"properties":{"b":{"$ref":"#/properties/a"},"c":{"anyOf":[{"$ref":"#"},{"type":"null"}]}}}}}`,
		`{"type":"object","properties":{"next":{"$ref":"#"},"content-type":{"$ref":"#"},"id":{"type":"integer"}},"required":["id","content-type"]}`)
	add(`{"properties":5,"required":"x","enum":{},"anyOf":7,"allOf":[1,null,"x"],"$ref":3,"items":[[]],"type":[1,{}],"additionalProperties":"no"}`, `[1,2]`)
	add(`{"properties":{"n":{"type":"integer","default":123456789012345678901234567890},"f":{"type":"number","default":1e400},"g":{"type":"number","default":-0.0},"h":{"const":-0}}}`, `null`)
	return tools
}

func allTools(t testing.TB) []Tool { return append(realTools(t), oddTools()...) }

func TestEveryStubRunsAndItsTypesCanBeEvaluated(t *testing.T) {
	python := newChecker(t)
	for _, tool := range allTools(t) {
		for _, inferred := range []bool{false, true} {
			tool.OutputInferred = inferred
			source := Stub(tool)
			if fault := python.check(t, source); fault != "" {
				t.Errorf("%s: %s\n%s", tool.Callable, fault, clip(source, 3000))
			}
			if source != Stub(tool) {
				t.Errorf("%s: another text the second time", tool.Callable)
			}
			if !utf8.ValidString(source) || len(source) > 1<<20 {
				t.Errorf("%s: %d bytes, valid: %v", tool.Callable, len(source), utf8.ValidString(source))
			}
			if line := Signature(tool); strings.ContainsAny(line, "\n\r\u2028\u202e") || len(line) > maxSignature+200 {
				t.Errorf("%s: signature %q", tool.Callable, line)
			}
		}
	}
}

// The oldest and the newest Python, from the images that `make setup` makes.
func TestEveryStubRunsOnEveryPython(t *testing.T) {
	for _, suite := range []string{"bullseye", "trixie", "forky"} {
		t.Run(suite, func(t *testing.T) {
			t.Parallel()
			python := newChecker(t, "docker", "run", "--rm", "-i", "--network", "none", "ptc-mcp/python-offline:"+suite, "python3")
			for _, tool := range allTools(t) {
				if fault := python.check(t, Stub(tool)); fault != "" {
					t.Errorf("%s: %s", tool.Callable, fault)
				}
			}
		})
	}
}

func TestEveryStubIsStrictlyTyped(t *testing.T) {
	dir := t.TempDir()
	for i, tool := range allTools(t) {
		write(t, filepath.Join(dir, "stub_"+strconv.Itoa(i)+".py"), Stub(tool))
	}
	if out := mypy(t, dir, "."); !strings.HasPrefix(out, "Success") {
		t.Error(out)
	}
}

func TestACheckerFindsWrongUse(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "list_issues.py"), Stub(example()))
	write(t, filepath.Join(dir, "use.py"), `from list_issues import ListIssuesResult, list_issues

async def right() -> None:
    result: ListIssuesResult = await list_issues(repo="api", state="open", filter={"field": "x", "and": [{"field": "y"}]})
    print(result["total"] + 1, [issue["title"].upper() for issue in result["issues"]])

async def wrong() -> None:
    await list_issues()
    await list_issues(repo="api", state="opened")
    await list_issues(repo="api", filter={"field": 1})
    print((await list_issues(repo="api"))["totl"])
`)
	out := mypy(t, dir, "use.py")
	for _, line := range []string{"use.py:8:", "use.py:9:", "use.py:10:", "use.py:11:"} {
		if !strings.Contains(out, line) {
			t.Errorf("nothing is said of %s\n%s", line, out)
		}
	}
	if !strings.Contains(out, "Found 4 errors in 1 file") {
		t.Error(out)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// mypy checks what is in dir and returns what it says.
func mypy(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "mypy", append([]string{"--strict", "--cache-dir", t.TempDir()}, args...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil && len(out) == 0 {
		t.Fatalf("mypy (Debian's package mypy): %v", err)
	}
	return clip(string(out), 5000)
}

// example is a tool with a bit of everything.
func example() Tool {
	yes := true
	return Tool{
		Callable: "mcp__github__list_issues", Server: "github", Name: "list_issues",
		Description: "Lists the issues of a repository.\n\nNewest first.", ReadOnly: &yes,
		Input: json.RawMessage(`{"type":"object","properties":{
			"repo":{"type":"string","description":"Name of the repository."},
			"state":{"enum":["open","closed","all"],"default":"open","description":"Which ones."},
			"since":{"type":["string","null"],"format":"date-time"},
			"from":{"type":"string","description":"Author."},
			"page-size":{"type":"integer","minimum":1,"maximum":100,"default":30},
			"filter":{"$ref":"#/$defs/Filter"}},
			"required":["repo"],"additionalProperties":false,
			"$defs":{"Filter":{"type":"object","properties":{"field":{"type":"string"},"and":{"type":"array","items":{"$ref":"#/$defs/Filter"}}},"required":["field"]}}}`),
		Output: json.RawMessage(`{"type":"object","description":"One page.","properties":{
			"total":{"type":"integer"},
			"issues":{"type":"array","items":{"type":"object","properties":{
				"number":{"type":"integer"},"title":{"type":"string"},
				"labels":{"type":"array","items":{"type":"string"},"description":"Their names."},
				"author":{"anyOf":[{"type":"object","properties":{"login":{"type":"string"},"is-bot":{"type":"boolean"}},"required":["login"]},{"type":"null"}]}},
				"required":["number","title"]}}},
			"required":["total","issues"]}`),
	}
}

func TestStub(t *testing.T) {
	inferred := example()
	inferred.OutputInferred = true
	undeclared := example()
	undeclared.Output, undeclared.Input = nil, nil
	for name, tool := range map[string]Tool{"declared": example(), "inferred": inferred, "undeclared": undeclared} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", "stubs", name+".py")
			got := Stub(tool)
			if *update {
				write(t, path, got)
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("not as in %s (go test -update writes it anew):\n%s", path, got)
			}
		})
	}
}

// Whatever a schema is, the result is valid Python.
func FuzzStub(f *testing.F) {
	for _, tool := range allTools(f) {
		if len(tool.Input)+len(tool.Output) < 4000 {
			f.Add(tool.Name, tool.Description, []byte(tool.Input), []byte(tool.Output))
		}
	}
	python := newChecker(f)
	f.Fuzz(func(t *testing.T, name, description string, input, output []byte) {
		id, ok := identifier(name)
		if !ok {
			id = "tool"
		}
		source := Stub(Tool{Callable: "mcp__s__" + id, Server: "s", Name: id, Description: description, Title: name, Input: input, Output: output})
		if fault := python.check(t, source); fault != "" {
			t.Errorf("%s\n%s", fault, source)
		}
	})
}

func BenchmarkStub(b *testing.B) {
	tools := realTools(b)
	b.Run("Stub", func(b *testing.B) {
		for i := range b.N {
			Stub(tools[i%len(tools)])
		}
	})
	b.Run("Signature", func(b *testing.B) {
		for i := range b.N {
			Signature(tools[i%len(tools)])
		}
	})
}
