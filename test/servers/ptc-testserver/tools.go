package main

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"time"
)

// tool is one tool of the server.
type tool struct {
	name string
	// definition is its entry in tools/list.
	definition json.RawMessage
	// call returns the whole result object, or nil for no reply at all.
	call func(*call) ([]byte, *rpcError)
	// takesTime is true when other requests go on meanwhile.
	takesTime bool
}

// call is one call of a tool.
type call struct {
	ctx       context.Context
	server    *server
	client    client
	id        json.RawMessage
	tool      *tool
	arguments json.RawMessage
	progress  json.RawMessage // the progress token, if any
}

// decode reads the arguments into a structure.
func (c *call) decode(target any) *rpcError {
	if len(c.arguments) == 0 {
		return nil
	}
	if err := json.Unmarshal(c.arguments, target); err != nil {
		return errorf(codeInvalidParams, "%s: %v", c.tool.name, err)
	}
	return nil
}

// definition is a tool as tools/list describes it.
type definition struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  map[string]bool `json:"annotations,omitempty"`
}

var (
	readOnly = map[string]bool{"readOnlyHint": true, "openWorldHint": false}
	writes   = map[string]bool{"readOnlyHint": false, "destructiveHint": false, "idempotentHint": false}
)

const noArguments = `{"type":"object","properties":{}}`

func newTool(d definition, takesTime bool, call func(*call) ([]byte, *rpcError)) *tool {
	return &tool{name: d.Name, definition: encode(d), call: call, takesTime: takesTime}
}

// schema is an object schema with the properties, of which some are required.
func schema(properties string, required ...string) json.RawMessage {
	text := `{"type":"object","properties":{` + properties + `}`
	if len(required) > 0 {
		text += `,"required":` + string(encode(required))
	}
	return json.RawMessage(text + `}`)
}

// textResult has one text block.
func textResult(text string) []byte {
	return []byte(`{"content":[{"type":"text","text":` + string(encode(text)) + `}]}`)
}

// structuredResult has structured content, and as text the same again, as the
// protocol asks of servers.
func structuredResult(value []byte) []byte {
	return []byte(`{"content":[{"type":"text","text":` + string(encode(string(value))) + `}],"structuredContent":` + string(value) + `}`)
}

func errorResult(text string) []byte {
	return []byte(`{"isError":true,"content":[{"type":"text","text":` + string(encode(text)) + `}]}`)
}

// basicTools do something: they echo, count, wait, fail.
func basicTools() []*tool {
	return []*tool{
		newTool(definition{
			Name: "echo", Description: "Return the message as text.",
			InputSchema: schema(`"message":{"type":"string"}`, "message"), Annotations: readOnly,
		}, false, echo),
		newTool(definition{
			Name: "mirror", Description: "Return the value as JSON in text.",
			InputSchema: schema(`"value":{"description":"Any JSON value."}`, "value"), Annotations: readOnly,
		}, false, mirror),
		newTool(definition{
			Name: "add", Title: "Add", Description: "Add two numbers.",
			InputSchema:  schema(`"a":{"type":"number"},"b":{"type":"number"}`, "a", "b"),
			OutputSchema: schema(`"sum":{"type":"number"}`, "sum"), Annotations: readOnly,
		}, false, add),
		newTool(definition{
			Name: "fail", Description: "Fail on every n-th call, counted over all calls of this process.",
			InputSchema: schema(`"every":{"type":"integer","minimum":1,"default":1}`), Annotations: readOnly,
		}, false, fail),
		newTool(definition{
			Name: "rpc_error", Description: "Answer with a JSON-RPC error instead of a result.",
			InputSchema: schema(`"code":{"type":"integer"},"message":{"type":"string"}`, "code", "message"), Annotations: readOnly,
		}, false, rpcFailure),
		newTool(definition{
			Name: "sleep", Description: "Wait, unless cancelled.",
			InputSchema: schema(`"seconds":{"type":"number"},"stubborn":{"type":"boolean","description":"Go on waiting when cancelled."}`, "seconds"),
			Annotations: readOnly,
		}, true, sleep),
		newTool(definition{
			Name: "slow_increment", Description: "Wait, then increment the counter, cancelled or not.",
			InputSchema: schema(`"seconds":{"type":"number"}`, "seconds"), Annotations: writes,
		}, true, slowIncrement),
		newTool(definition{
			Name: "increment", Description: "Add to the counter and return it.",
			InputSchema: schema(`"by":{"type":"integer","default":1}`), OutputSchema: schema(`"counter":{"type":"integer"}`, "counter"),
			Annotations: writes,
		}, false, increment),
		newTool(definition{
			Name: "counter", Description: "Return the counter.",
			InputSchema: json.RawMessage(noArguments), OutputSchema: schema(`"counter":{"type":"integer"}`, "counter"), Annotations: readOnly,
		}, false, counter),
		newTool(definition{
			Name: "progress", Description: "Send a progress notification for each step.",
			InputSchema: schema(`"steps":{"type":"integer"}`, "steps"), Annotations: readOnly,
		}, false, progress),
		newTool(definition{
			Name: "environment", Description: "Return the server's environment variables.",
			InputSchema: json.RawMessage(noArguments), Annotations: readOnly,
		}, false, environment),
		newTool(definition{
			Name: "headers", Description: "Return the headers of the HTTP request.",
			InputSchema: json.RawMessage(noArguments), Annotations: readOnly,
		}, false, headers),
		newTool(definition{
			Name: "forget_sessions", Description: "Drop every HTTP session, as a restart would.",
			InputSchema: json.RawMessage(noArguments), Annotations: writes,
		}, false, forgetSessions),
	}
}

// echo copies the string as it was escaped, which is the quickest way back.
func echo(c *call) ([]byte, *rpcError) {
	var arguments struct{ Message json.RawMessage }
	if failure := c.decode(&arguments); failure != nil {
		return nil, failure
	}
	if message := arguments.Message; len(message) > 0 && message[0] == '"' {
		return []byte(`{"content":[{"type":"text","text":` + string(message) + `}]}`), nil
	}
	return errorResult("message must be a string"), nil
}

func mirror(c *call) ([]byte, *rpcError) {
	arguments := struct{ Value json.RawMessage }{json.RawMessage("null")}
	if failure := c.decode(&arguments); failure != nil {
		return nil, failure
	}
	return textResult(string(arguments.Value)), nil
}

func add(c *call) ([]byte, *rpcError) {
	var arguments struct{ A, B float64 }
	if failure := c.decode(&arguments); failure != nil {
		return nil, failure
	}
	return structuredResult(encode(map[string]float64{"sum": arguments.A + arguments.B})), nil
}

func fail(c *call) ([]byte, *rpcError) {
	arguments := struct{ Every int }{1}
	if failure := c.decode(&arguments); failure != nil {
		return nil, failure
	}
	if arguments.Every < 1 {
		return errorResult("every must be 1 or more"), nil
	}
	c.server.mu.Lock()
	c.server.calls[c.tool.name]++
	n := c.server.calls[c.tool.name]
	c.server.mu.Unlock()
	if n%arguments.Every == 0 {
		return errorResult("call " + strconv.Itoa(n) + " fails on purpose"), nil
	}
	return textResult("call " + strconv.Itoa(n) + " succeeds"), nil
}

func rpcFailure(c *call) ([]byte, *rpcError) {
	failure := &rpcError{Data: json.RawMessage(`{"on":"purpose"}`)}
	if bad := c.decode(failure); bad != nil {
		return nil, bad
	}
	return nil, failure
}

func sleep(c *call) ([]byte, *rpcError) {
	var arguments struct {
		Seconds  float64
		Stubborn bool
	}
	if failure := c.decode(&arguments); failure != nil {
		return nil, failure
	}
	cancelled := c.ctx.Done()
	if arguments.Stubborn {
		cancelled = nil
	}
	select {
	case <-cancelled:
		return nil, nil
	case <-time.After(seconds(arguments.Seconds)):
		return textResult("slept"), nil
	}
}

func slowIncrement(c *call) ([]byte, *rpcError) {
	var arguments struct{ Seconds float64 }
	if failure := c.decode(&arguments); failure != nil {
		return nil, failure
	}
	<-time.After(seconds(arguments.Seconds))
	return c.server.count(1), nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func increment(c *call) ([]byte, *rpcError) {
	arguments := struct{ By int64 }{1}
	if failure := c.decode(&arguments); failure != nil {
		return nil, failure
	}
	return c.server.count(arguments.By), nil
}

func counter(c *call) ([]byte, *rpcError) { return c.server.count(0), nil }

func (s *server) count(by int64) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counter += by
	return structuredResult(encode(map[string]int64{"counter": s.counter}))
}

func progress(c *call) ([]byte, *rpcError) {
	var arguments struct{ Steps int }
	if failure := c.decode(&arguments); failure != nil {
		return nil, failure
	}
	for step := range arguments.Steps {
		if c.progress != nil && c.client.send != nil {
			c.client.send(notification("notifications/progress", map[string]any{
				"progressToken": c.progress, "progress": step + 1, "total": arguments.Steps,
			}))
		}
	}
	return textResult("done"), nil
}

func changeTool() *tool {
	return newTool(definition{
		Name: "change", Annotations: writes,
		Description: "Add a tool to the list, or remove one, and say that the list has changed. Without arguments, add the tool added, or remove it.",
		InputSchema: schema(`"add":{"type":"string"},"remove":{"type":"string"}`),
	}, false, change)
}

func change(c *call) ([]byte, *rpcError) {
	var arguments struct{ Add, Remove string }
	if failure := c.decode(&arguments); failure != nil {
		return nil, failure
	}
	if arguments.Add == "" && arguments.Remove == "" {
		const name = "added"
		if c.server.tool(name) == nil {
			arguments.Add = name
		} else {
			arguments.Remove = name
		}
	}
	if name := arguments.Add; name != "" {
		c.server.add(newTool(definition{
			Name: name, Description: "Added later.", InputSchema: json.RawMessage(noArguments), Annotations: readOnly,
		}, false, func(*call) ([]byte, *rpcError) { return textResult("this is " + name), nil }))
	}
	if arguments.Remove != "" {
		c.server.remove(arguments.Remove)
	}
	c.server.toolsChanged()
	return textResult("changed"), nil
}

func environment(*call) ([]byte, *rpcError) {
	variables := map[string]string{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		variables[name] = value
	}
	return structuredResult(encode(variables)), nil
}

func headers(c *call) ([]byte, *rpcError) {
	found := map[string]string{}
	for name := range c.client.header {
		found[name] = c.client.header.Get(name)
	}
	return structuredResult(encode(found)), nil
}

func forgetSessions(c *call) ([]byte, *rpcError) {
	c.server.forget()
	return textResult("forgotten"), nil
}
