package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ptc-mcp/ptc-mcp/internal/downstream"
)

func TestAShapeIsLearntFromValues(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []string
		want   string
	}{
		{"one object", []string{`{"b":1,"a":"x"}`}, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a","b"]}`},
		{"keys that are not always there", []string{`{"a":1}`, `{"a":2.5,"b":null}`}, `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"null"}},"required":["a"]}`},
		{"elements of a list", []string{`[{"id":1},{"id":2,"t":true}]`}, `{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"t":{"type":"boolean"}},"required":["id"]}}`},
		{"an empty list says nothing of its elements", []string{`[]`}, `{"type":"array"}`},
		{"different types", []string{`"x"`, `null`, `3`}, `{"anyOf":[{"type":"integer"},{"type":"string"},{"type":"null"}]}`},
		{"keys that are data are not shown", []string{`{"alice@example.com":{"n":1},"bob@example.com":{"n":2}}`}, `{"type":"object","additionalProperties":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`},
		{"keys with alike objects are data", []string{`{"alice":{"n":1},"bob":{"n":2},"carol":{"n":3}}`}, `{"type":"object","additionalProperties":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`},
		{"what is found to be a map later was one before", []string{`{"x":1}`, `{"2026-01-01":2.5}`}, `{"type":"object","additionalProperties":{"type":"number"}}`},
		{"an empty object", []string{`{}`}, `{"type":"object"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var l learntShape
			for _, value := range tt.values {
				l.learn(json.RawMessage(value))
			}
			if got := string(l.shape.appendSchema(nil)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestMoreKeysThanNamesAreAMap(t *testing.T) {
	var l learntShape
	for i := range maxShapeKeys + 1 {
		l.learn(json.RawMessage(fmt.Sprintf(`{"key_%s":1}`, strings.Repeat("x", i))))
	}
	if got := string(l.shape.appendSchema(nil)); got != `{"type":"object","additionalProperties":{"type":"integer"}}` {
		t.Error(got)
	}
}

// Every value that a shape was made from is valid against it, and none of their
// texts and numbers is in it.
func TestAShapeFitsItsValuesAndHoldsNone(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var l learntShape
		var values []string
		for range 1 + random.IntN(6) {
			encoded, err := json.Marshal(randomValue(random, 0))
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, string(encoded))
			l.learn(encoded)
		}
		schema := string(l.shape.appendSchema(nil))
		if strings.Contains(schema, "secret") || strings.Contains(schema, "4242") {
			t.Fatalf("a value is in %s", schema)
		}
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
		if err != nil {
			t.Fatalf("%v\n%s", err, schema)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("s", document); err != nil {
			t.Fatal(err)
		}
		compiled := c.MustCompile("s")
		for _, value := range values {
			decoded, _ := jsonschema.UnmarshalJSON(strings.NewReader(value))
			if err := compiled.Validate(decoded); err != nil {
				t.Fatalf("%s\nis not of %s: %v", value, schema, err)
			}
		}
	}
}

func randomValue(random *rand.Rand, depth int) any {
	kinds := 7
	if depth > 3 {
		kinds = 5
	}
	switch random.IntN(kinds) {
	case 0:
		return nil
	case 1:
		return random.IntN(2) == 0
	case 2:
		return 4242
	case 3:
		return 4242.5
	case 4:
		return "secret"
	case 5:
		list := []any{}
		for range random.IntN(4) {
			list = append(list, randomValue(random, depth+1))
		}
		return list
	}
	object := map[string]any{}
	for range random.IntN(5) {
		object[[]string{"a", "b", "c", "d", "user@secret"}[random.IntN(5)]] = randomValue(random, depth+1)
	}
	return object
}

func TestTheShapeOfResultsIsOffered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake("s", downstream.Tool{Name: "get", InputSchema: json.RawMessage(`{"type":"object"}`)}).answers(`{"content":[` + text(`{"total":3}`) + `]}`)
		r := newRegistry(t, Options{}, s)
		if stub, err := r.Stub("mcp__s__get"); err != nil || !strings.Contains(stub, "GetResult = Any  # the server declares no output schema") {
			t.Errorf("%v\n%s", err, stub)
		}
		for range 3 {
			if _, err := r.CallTool(context.Background(), "mcp__s__get", nil); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		stub, err := r.Stub("mcp__s__get")
		if err != nil || !strings.Contains(stub, "total: int") || !strings.Contains(stub, "Inferred from earlier results") {
			t.Errorf("%v\n%s", err, stub)
		}
		inspected, err := r.Inspect("mcp__s__get")
		if err != nil || !strings.Contains(string(inspected), `"outputSchema":null,"inferredOutputSchema":{"type":"object","properties":{"total":{"type":"integer"}},"required":["total"]},"note":"the server declares no output schema; this one is inferred from 3 results`) {
			t.Errorf("%v\n%s", err, inspected)
		}
		// What is seen of it does not grow without end.
		for range 2 * maxSamples {
			if _, err := r.CallTool(context.Background(), "mcp__s__get", nil); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if _, results := r.learnt.schema("mcp__s__get"); results != maxSamples {
			t.Errorf("%d results were looked at", results)
		}
	})
}

func TestLearningFromManyCallsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l learner
		var all sync.WaitGroup
		for i := range 64 {
			all.Go(func() {
				for range 50 {
					l.observe(fmt.Sprint("tool", i%4), json.RawMessage(`{"a":[{"b":1}]}`))
					l.schema("tool0")
				}
			})
		}
		all.Wait()
		synctest.Wait()
		// While others were learnt from, all results of one tool may be passed over.
		l.observe("tool0", json.RawMessage(`{"a":[{"b":1}]}`))
		synctest.Wait()
		l.observe("tool0", json.RawMessage(`"`+strings.Repeat("x", maxSampleBytes)+`"`)) // too large
		synctest.Wait()
		schema, results := l.schema("tool0")
		if results == 0 || results > maxSamples+64 || strings.Contains(string(schema), "anyOf") {
			t.Errorf("%d results: %s", results, schema)
		}
	})
}

func BenchmarkObserve(b *testing.B) {
	for _, known := range []bool{false, true} {
		b.Run(fmt.Sprint("known=", known), func(b *testing.B) {
			value := json.RawMessage(`{"tool":"` + strings.Repeat("x", 1000) + `"}`)
			var l learner
			if known {
				s := &learntShape{}
				s.results.Store(maxSamples)
				l.shapes.Store("tool", s)
			}
			for i := range b.N {
				if !known && i%maxSamples == 0 {
					l.shapes.Delete("tool")
				}
				l.observe("tool", value)
			}
		})
	}
}
