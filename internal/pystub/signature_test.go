package pystub

import (
	"encoding/json"
	"strings"
	"testing"
)

// input makes an input schema of properties and the required ones.
func input(properties string, required ...string) string {
	names, _ := json.Marshal(append([]string{}, required...))
	return `{"type":"object","properties":{` + properties + `},"required":` + string(names) + `}`
}

func TestSignature(t *testing.T) {
	for _, tt := range []struct{ name, input, output, want string }{
		{"required parameters come before optional ones with their defaults",
			input(`"state":{"enum":["open","closed"],"default":"open"},"repo":{"type":"string"}`, "repo"),
			`{"type":"object","properties":{"total":{"type":"integer"}}}`,
			"(*, repo: str, state: Literal['open', 'closed'] = 'open') -> ListIssuesResult"},
		{"without any input schema everything is accepted", ``, ``, "(**extra: Any) -> Any"},
		{"true is a schema", `true`, `true`, "(**extra: Any) -> Any"},
		{"false is one too", `false`, `false`, "(**extra: Any) -> Any"},
		{"an empty schema says nothing", `{}`, `{}`, "(**extra: Any) -> Any"},
		{"what is no JSON says nothing", `{"type":`, `nonsense`, "(**extra: Any) -> Any"},
		{"an object with no properties takes none", `{"type":"object","properties":{}}`, ``, "() -> Any"},
		{"a closed object takes none", `{"type":"object","additionalProperties":false}`, ``, "() -> Any"},
		{"an object of which nothing is said takes all", `{"type":"object"}`, ``, "(**extra: Any) -> Any"},
		{"a list of types at the root is no obstacle",
			`{"type":["object","null"],"properties":{"a":{"type":"string"}}}`, ``, "(*, a: str = ...) -> Any"},
		{"the scalar types",
			input(`"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"number"},"d":{"type":"boolean"},"e":{"type":"null"}`, "a", "b", "c", "d", "e"),
			``, "(*, a: str, b: int, c: float, d: bool, e: None) -> Any"},
		{"lists, dicts and tuples",
			input(`"a":{"type":"array","items":{"type":"string"}},"b":{"type":"array"},"c":{"type":"object"},"d":{"type":"object","additionalProperties":{"type":"integer"}},"e":{"type":"object","patternProperties":{"^x":{"type":"number"}},"additionalProperties":false},"f":{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}]},"g":{"type":"array","items":[{"type":"integer"}],"additionalItems":{"type":"string"}}`,
				"a", "b", "c", "d", "e", "f", "g"),
			``, "(*, a: List[str], b: List[Any], c: Dict[str, Any], d: Dict[str, int], e: Dict[str, float], f: Tuple[int, str], g: List[Union[int, str]]) -> Any"},
		{"every spelling of null",
			input(`"a":{"type":["string","null"]},"b":{"anyOf":[{"type":"integer"},{"type":"null"}]},"c":{"type":"number","nullable":true},"d":{"enum":["x",null]},"e":{"oneOf":[{"type":"null"},{"type":"array","items":{"type":"string"}},{"type":"boolean"}]}`,
				"a", "b", "c", "d", "e"),
			``, "(*, a: Optional[str], b: Optional[int], c: Optional[float], d: Optional[Literal['x']], e: Optional[Union[List[str], bool]]) -> Any"},
		{"enums of every kind",
			input(`"a":{"const":"x"},"b":{"enum":[1,2]},"c":{"enum":[true,"x",-3]},"d":{"enum":[1.5,2]},"e":{"enum":[[1],{"a":1}]},"f":{"enum":[]}`,
				"a", "b", "c", "d", "e", "f"),
			``, "(*, a: Literal['x'], b: Literal[1, 2], c: Literal[True, 'x', -3], d: Union[float, Literal[2]], e: Union[List[Any], Dict[str, Any]], f: Any) -> Any"},
		{"enums that are options are one",
			input(`"a":{"anyOf":[{"const":"x"},{"enum":["y","x"]},{"type":"integer"}]}`, "a"), ``, "(*, a: Union[Literal['x', 'y'], int]) -> Any"},
		{"defaults of another type are left to the server",
			input(`"a":{"type":"integer","default":"5"},"b":{"type":"integer","default":5},"c":{"type":"number","default":0.5},"d":{"type":"array","default":[]},"e":{"type":["string","null"],"default":null},"f":{"type":"boolean","default":false},"g":{"enum":["x"],"default":"y"},"h":{"default":1}`),
			``, "(*, a: int = ..., b: int = 5, c: float = 0.5, d: List[Any] = ..., e: Optional[str] = None, f: bool = False, g: Literal['x'] = ..., h: Any = 1) -> Any"},
		{"names that are no identifiers",
			input(`"content-type":{"type":"string"},"from":{"type":"string"},"1st":{"type":"integer"},"größe":{"type":"number"},"class":{"type":"string"}`, "from"),
			``, "(*, from_: str, content_type: str = ..., _1st: int = ..., größe: float = ..., class_: str = ...) -> Any"},
		{"a name that is taken, or cannot be written, goes with the rest",
			input(`"user-id":{"type":"string"},"user_id":{"type":"string"},"":{},"ﬁ":{},"extra":{"type":"integer"}`),
			``, "(*, user_id: str = ..., extra: int = ..., **extra2: Any) -> Any"},
		{"the type of other arguments", `{"properties":{"a":{}},"additionalProperties":{"type":"string"}}`, ``, "(*, a: Any = ..., **extra: str) -> Any"},
		{"what is never allowed is no parameter", input(`"a":false,"b":true`), ``, "(*, b: Any = ...) -> Any"},
		{"references, within and beyond",
			`{"properties":{"a":{"$ref":"#/$defs/S"},"b":{"$ref":"#/definitions/a~1b%20c"},"c":{"$ref":"#name"},"d":{"$ref":"https://example.com/s.json"},"e":{"$ref":"#/nowhere"},"f":{"$ref":"#/properties/a"},"g":{"$ref":"item.json"}},
			"$defs":{"S":{"type":"string"},"T":{"$anchor":"name","type":"boolean"},"U":{"$id":"item.json","type":"null"}},"definitions":{"a/b c":{"type":"integer"}}}`,
			``, "(*, a: str = ..., b: int = ..., c: bool = ..., d: Any = ..., e: Any = ..., f: str = ..., g: None = ...) -> Any"},
		{"references at the root", `{"$ref":"#/$defs/Args","$defs":{"Args":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`,
			`{"$ref":"#/$defs/R","$defs":{"R":{"type":"object","properties":{"x":{"type":"string"}}}}}`, "(*, a: str) -> ListIssuesR"},
		{"cycles without an end", `{"properties":{"a":{"$ref":"#/$defs/A"},"b":{"$ref":"#/$defs/B"},"c":{"$ref":"#/properties/c"}},"$defs":{"A":{"$ref":"#/$defs/A"},"B":{"type":"array","items":{"$ref":"#/$defs/B"}}}}`,
			``, "(*, a: Any = ..., b: List[Any] = ..., c: Any = ...) -> Any"},
		{"all of several schemas", `{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"integer"}}}],"properties":{"c":{"allOf":[{"type":"string"},{"enum":["x"]}]}}}`,
			``, "(*, a: str, c: Literal['x'] = ..., b: int = ...) -> Any"},
		{"one of several sets of parameters", `{"type":"object","oneOf":[{"properties":{"a":{"type":"string"},"k":{"const":1}},"required":["a","k"]},{"properties":{"b":{"type":"integer"},"k":{"const":2}},"required":["k"]}]}`,
			``, "(*, k: Literal[1, 2], a: str = ..., b: int = ...) -> Any"},
		{"what holds under a condition is optional", `{"properties":{"a":{"type":"string"}},"if":{"required":["a"]},"then":{"properties":{"b":{"type":"string"}},"required":["b"]}}`,
			``, "(*, a: str = ..., b: str = ...) -> Any"},
		{"a result that is wrapped because it is no object", ``,
			`{"type":"object","properties":{"result":{"type":"array","items":{"type":"integer"}}},"required":["result"],"x-fastmcp-wrap-result":true}`, "(**extra: Any) -> List[int]"},
		{"unions of results", ``, `{"anyOf":[{"type":"object","properties":{"a":{}}},{"type":"object","properties":{"b":{}}}]}`, "(**extra: Any) -> Union[ListIssuesResult, ListIssuesResult2]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Signature(Tool{Callable: "mcp__github__list_issues", Server: "github", Name: "list_issues",
				Input: json.RawMessage(tt.input), Output: json.RawMessage(tt.output)})
			if want := "mcp__github__list_issues" + tt.want; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestASignatureIsBounded(t *testing.T) {
	var properties []string
	for i := range 3000 {
		properties = append(properties, `"`+strings.Repeat("p", 1+i%190)+"_"+strings.Repeat("q", i%7)+`":{"type":"string"}`)
	}
	got := Signature(Tool{Callable: "mcp__a__b", Server: "a", Name: "b", Input: json.RawMessage(input(strings.Join(properties, ",")))})
	if len(got) > maxSignature+len(", ...") || !strings.HasSuffix(got, ", ...) -> Any") {
		t.Errorf("%d bytes, ends with %q", len(got), got[len(got)-40:])
	}
}
