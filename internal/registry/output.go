package registry

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// outputSchema is a declared output schema, compiled when it is first needed.
type outputSchema struct {
	raw    []byte
	logger *slog.Logger
	tool   string // callable name, for the log
	// unwrap says that {"result": x} is a wrapper around what the tool returns.
	unwrap bool

	once     sync.Once
	compiled *jsonschema.Schema // nil when raw does not compile
	quick    *quickSchema       // nil when raw says more than a quickSchema can
}

// newOutputSchema returns nil when the tool declares none.
func newOutputSchema(raw []byte, tool string, logger *slog.Logger) *outputSchema {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return &outputSchema{raw: raw, logger: logger, tool: tool, unwrap: isWrapper(raw)}
}

// unwraps reports whether a bare {"result": x} stands for x: always when no
// schema is declared, else when the schema describes nothing but that wrapper.
func (s *outputSchema) unwraps() bool { return s == nil || s.unwrap }

// isWrapper reports whether a schema is the one FastMCP puts around a return
// type that is no object: marked as such, or an object whose only property is
// result.
func isWrapper(schema []byte) bool {
	marked, only := false, false
	_, _ = eachMember(schema, 0, func(key []byte, at int) (int, error) {
		end, err := skipValue(schema, at)
		if err != nil {
			return end, err
		}
		switch value := schema[at:end]; string(key) {
		case "x-fastmcp-wrap-result":
			marked = string(value) == "true"
		case "properties":
			params := parseProperties(value)
			only = len(params) == 1 && params[0].name == "result"
		}
		return end, nil
	})
	return marked || only
}

// check validates structured content; nil stands for none. Numbers are compared
// exactly. The error's text says where and why, in one line. A schema that does
// not compile is logged once and checks nothing.
func (s *outputSchema) check(structured []byte) error {
	if s == nil {
		return nil
	}
	if structured == nil {
		return errors.New("the tool declares an output schema but returned no structured content")
	}
	s.once.Do(s.compile)
	if s.quick != nil && s.quick.accepts(structured) {
		return nil
	}
	if s.compiled == nil {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(structured))
	if err != nil {
		return fmt.Errorf("the structured content is not valid JSON: %w", err)
	}
	if err := s.compiled.Validate(value); err != nil {
		return errors.New(describeViolation(err))
	}
	return nil
}

func (s *outputSchema) compile() {
	logger := s.logger.With("tool", s.tool)
	var err error
	if s.compiled, err = compileSchema(s.raw, logger); err != nil {
		s.compiled = nil
		logger.Warn("output schema does not compile; results are not checked against it", "error", err)
		return
	}
	s.quick = newQuickSchema(s.raw)
}

// schemaURL names the schema in the library; it is never fetched.
const schemaURL = "schema:///output"

func compileSchema(raw []byte, logger *slog.Logger) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020) // what MCP assumes where $schema is absent
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(func(pattern string) (jsonschema.Regexp, error) {
		re, err := regexp.Compile(pattern)
		if err != nil {
			logger.Warn("output schema has a pattern that is not checked", "pattern", clip(pattern, 200), "error", err)
			return anyText(pattern), nil
		}
		return re, nil
	})
	if err := c.AddResource(schemaURL, document); err != nil {
		return nil, err
	}
	return c.Compile(schemaURL)
}

// noLoader refuses every schema that is not part of the document: a server
// must not make the host fetch anything.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("remote schema %q is not fetched", clip(url, 200))
}

// anyText stands in for an ECMA 262 pattern that Go's regexp cannot express
// (look-around, back references).
type anyText string

func (p anyText) String() string        { return string(p) }
func (anyText) MatchString(string) bool { return true }

// maxViolation bounds the description of a violation, in bytes.
const maxViolation = 500

// describeViolation gives the first violation in detail and counts the others.
func describeViolation(err error) string {
	var violation *jsonschema.ValidationError
	if !errors.As(err, &violation) {
		return clip(err.Error(), maxViolation)
	}
	leaves := leafViolations(violation, nil)
	text := clip(leaves[0].Error(), maxViolation) // "at '/items/3': got number, want string"
	if more := len(leaves) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

func leafViolations(e *jsonschema.ValidationError, leaves []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return append(leaves, e)
	}
	for _, cause := range e.Causes {
		leaves = leafViolations(cause, leaves)
	}
	return leaves
}
