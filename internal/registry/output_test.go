package registry

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestCommonSchemasAreCheckedWithoutDecoding(t *testing.T) {
	for schema, quick := range map[string]bool{
		`{"type":"object"}`: yes,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"content":{"type":"string"}},"required":["content"],"additionalProperties":false}`: yes,
		`{"type":"object","properties":{"result":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"null"}]}}},"x-fastmcp-wrap-result":true}`:                        yes,
		`{"type":"object","properties":{"n":{"minimum":1}}}`: no,
		`{"type":"array","items":[{}]}`:                      no,
		`{"$ref":"#/$defs/a","$defs":{"a":{}}}`:              no,
		`false`:                                              no,
	} {
		if got := newQuickSchema([]byte(schema)) != nil; got != quick {
			t.Errorf("%s: quick is %v", schema, got)
		}
	}
}

// A quick check may be unsure where the library says yes, never the other way
// round.
func FuzzTheQuickCheckAcceptsNothingThatTheLibraryRefuses(f *testing.F) {
	values := []string{`{}`, `{"a":1,"b":[null,"x",{"a":true}]}`, `{"a":1.0,"a":"x"}`, `[1,2.5]`, `"x"`, `null`, `{"a":null}`, `{"\u0061":1}`, `{"b":{"a":[]}}`}
	for _, schema := range []string{
		`true`, `{}`, `{"type":"object"}`, `{"type":["integer","null"]}`, `{"required":["a"],"properties":{"a":{"type":"integer"}}}`,
		`{"properties":{"a":{},"b":{"type":"array","items":{"type":["string","null"]}}},"additionalProperties":false}`,
		`{"additionalProperties":{"type":"array","items":{"additionalProperties":false}}}`, `{"items":{"type":"number"}}`,
		`{"anyOf":[{"type":"array"},{"required":["b"]}],"properties":{"b":{"anyOf":[{"type":"object"}]}}}`, `{"type":"array","items":true}`,
		`{"type":"object","type":"array"}`, `{"anyOf":[true],"anyOf":[{"type":"null"}]}`,
	} {
		for _, value := range values {
			f.Add([]byte(schema), []byte(value))
		}
	}
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		if !validJSON(schema) || !validJSON(value) {
			return
		}
		schema, value = bytes.TrimSpace(schema), bytes.TrimSpace(value)
		quick := newQuickSchema(schema)
		if quick == nil || !quick.accepts(value) {
			return
		}
		compiled, err := compileSchema(schema, slog.New(slog.DiscardHandler))
		if err != nil {
			return // the check is then skipped, and that is logged
		}
		decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(decoded); err != nil {
			t.Fatalf("%s accepts %s: %v", schema, value, err)
		}
	})
}

func TestAViolationIsDescribedInOneBoundedLine(t *testing.T) {
	s := newOutputSchema([]byte(`{"type":"object","properties":{"l":{"type":"array","items":{"enum":["a","b"]}},"n":{"type":"integer"}}}`), "mcp__s__t", slog.New(slog.DiscardHandler))
	err := s.check([]byte(`{"l":["a","` + strings.Repeat("é", 10000) + `"],"n":"x"}`))
	if err == nil || len(err.Error()) > 2*maxViolation || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "(and 1 more)") {
		t.Errorf("got %v", err)
	}
	err = s.check([]byte(`{"l":["a",7]}`))
	if err == nil || !strings.Contains(err.Error(), "'/l/1'") {
		t.Errorf("got %v", err)
	}
	if err := s.check([]byte(`{"l":["a","b"],"n":3}`)); err != nil {
		t.Error(err)
	}
}

func benchmarkCheck(b *testing.B, item string) {
	s := newOutputSchema([]byte(`{"type":"object","properties":{"result":{"type":"array","items":`+item+`}},"required":["result"]}`), "mcp__s__t", slog.New(slog.DiscardHandler))
	value := []byte(`{"result":` + tenMegabytes() + `}`)
	b.SetBytes(int64(len(value)))
	for b.Loop() {
		if err := s.check(value); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckOfTenMegabytesAgainstACommonSchema(b *testing.B) {
	benchmarkCheck(b, `{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"}}}`)
}

func BenchmarkCheckOfTenMegabytesByTheLibrary(b *testing.B) {
	benchmarkCheck(b, `{"type":"object","properties":{"id":{"type":"integer","minimum":1},"name":{"type":"string"}}}`)
}
