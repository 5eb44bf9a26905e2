//go:build unix

package downstream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The fake is a server in a process of its own: this test binary, started
// again with fakeEnv set. Its value lists how the server misbehaves.
const fakeEnv = "DOWNSTREAM_FAKE"

func TestMain(m *testing.M) {
	if behaviour, ok := os.LookupEnv(fakeEnv); ok {
		runFake(strings.Fields(behaviour))
		return
	}
	goleak.VerifyTestMain(m,
		// mcp-go's SSE server, which some tests run, forgets this one.
		goleak.IgnoreAnyFunction("github.com/mark3labs/mcp-go/server.(*MCPServer).handleSubscriptionsListen"))
}

// fakeConfig configures a session with a fake of the given behaviour.
func fakeConfig(t testing.TB, behaviour string) Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Name: "fake", Transport: "stdio", Command: self,
		Env:            map[string]string{fakeEnv: behaviour, "GORACE": "atexit_sleep_ms=0"},
		ConnectTimeout: 30 * time.Second, ListTimeout: 30 * time.Second,
		MaxResultBytes: 1 << 20, ClientVersion: "test",
	}
}

type fake struct {
	flags map[string]string
	in    *bufio.Reader
	mu    sync.Mutex
	// answers to the fake's own requests, by id
	answers map[string]chan json.RawMessage
	extra   bool
	cancels []string
	lists   int
}

type fakeRequest struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	Params struct {
		Name      string          `json:"name"`
		Arguments map[string]any  `json:"arguments"`
		Cursor    string          `json:"cursor"`
		URI       string          `json:"uri"`
		RequestID json.RawMessage `json:"requestId"`
		Meta      map[string]any  `json:"_meta"`

		InputResponses json.RawMessage `json:"inputResponses"`
		RequestState   string          `json:"requestState"`
	} `json:"params"`
}

// runFake serves standard input until it ends. Flags: see the uses of f.flags.
func runFake(behaviour []string) {
	f := &fake{flags: map[string]string{}, in: bufio.NewReader(os.Stdin), answers: map[string]chan json.RawMessage{}}
	for _, word := range behaviour {
		name, value, _ := strings.Cut(word, "=")
		f.flags[name] = value
	}
	if f.has("exit") {
		fmt.Fprintln(os.Stderr, "no such database: inventory")
		os.Exit(3)
	}
	if f.has("stubborn") {
		signal.Ignore(syscall.SIGTERM)
	}
	if f.has("chatty") {
		for i := range 50 {
			fmt.Printf("starting up, step %d\n\n", i)
			fmt.Fprintf(os.Stderr, "log line %d\n", i)
		}
	}
	if f.has("childholdsoutput") {
		child := exec.Command("sleep", "600")
		child.Stdout = os.Stdout
		_ = child.Start()
	}
	for f.has("lean") {
		line, err := f.in.ReadBytes('\n')
		if err != nil {
			return
		}
		if !bytes.Contains(line, []byte(`"tools/call"`)) {
			var r fakeRequest
			_ = json.Unmarshal(line, &r)
			f.handle(r)
			continue
		}
		_, rest, _ := bytes.Cut(line, []byte(`"id":`))
		id, _, _ := bytes.Cut(rest, []byte(","))
		f.result(id, `{"content":[{"type":"text","text":"pong"}]}`)
	}
	for {
		line, err := f.in.ReadBytes('\n')
		if err != nil {
			break
		}
		var r fakeRequest
		if json.Unmarshal(line, &r) == nil {
			f.handle(r)
		}
	}
	if f.has("stubborn") {
		<-time.After(time.Hour)
	}
}

func (f *fake) has(flag string) bool { _, ok := f.flags[flag]; return ok }

func (f *fake) write(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = os.Stdout.WriteString(line + "\n")
}

func (f *fake) result(id json.RawMessage, result string) {
	f.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result))
}

func (f *fake) error(id json.RawMessage, code int, message string) {
	f.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q,"data":{"n":12345678901234567890}}}`, id, code, message))
}

func (f *fake) text(id json.RawMessage, text string) {
	quoted, _ := json.Marshal(text)
	f.result(id, fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, quoted))
}

func (f *fake) handle(r fakeRequest) {
	switch r.Method {
	case "":
		f.mu.Lock()
		ch := f.answers[string(r.ID)]
		f.mu.Unlock()
		if ch != nil {
			if r.Error != nil {
				r.Result = r.Error
			}
			ch <- r.Result
		}
	case "server/discover":
		switch {
		case f.has("dieondiscover"):
			os.Exit(1)
		case f.has("mute"), f.has("ignorediscover"):
		case f.has("modern"):
			f.result(r.ID, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}`+f.offers()+`},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"1"}}}`)
		default:
			f.error(r.ID, -32601, "method not found")
		}
	case "initialize":
		if !f.has("mute") {
			f.result(r.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}`+f.offers()+`},"serverInfo":{"name":"fake","version":"1"}}`)
		}
	case "tools/list":
		f.list(r)
	case "tools/call":
		f.call(r)
	case "resources/list", "resources/read", "resources/templates/list", "prompts/list", "prompts/get":
		f.offer(r)
	case "notifications/cancelled":
		f.cancels = append(f.cancels, string(r.Params.RequestID))
	}
}

const fakeTools = `{"name":"echo","description":"d","inputSchema":{"type":"object","x-odd":[1,{"big":9007199254740993}]},"annotations":{"readOnlyHint":true,"title":"Echo"}}`

func (f *fake) list(r fakeRequest) {
	f.lists++
	switch {
	case f.has("hanglist"):
	case f.has("hangsecondlist") && f.lists == 2:
	case f.has("faillist") && f.lists == 1:
		f.error(r.ID, -32000, "not yet")
	case f.has("notools"):
		f.error(r.ID, -32601, "method not found")
	case f.has("badtools"):
		f.result(r.ID, strings.Join(strings.Split(`{"tools":[`+fakeTools+`,
			{"name":"union","inputSchema":{"type":["object","null"]},"outputSchema":true},
			{"name":"bool","inputSchema":true,"annotations":{"readOnlyHint":"yes"}},
			{"name":"noschema"},
			{"inputSchema":{}}, 7, {"name":""},
			{"name":"echo","description":"again"},
			{"name":"task","inputSchema":{},"execution":{"taskSupport":"required"}},
			{"name":"mixed","inputSchema":{},"execution":{"taskSupport":"optional"}}],"nextCursor":null}`, "\n"), ""))
	case f.has("pages"):
		n, _ := strconv.Atoi(r.Params.Cursor)
		next := `,"nextCursor":"` + strconv.Itoa(n+1) + `"`
		if n == 49 {
			next = ""
		}
		var tools []string
		for i := range 100 {
			tools = append(tools, fmt.Sprintf(`{"name":"tool_%d","inputSchema":{"type":"object"}}`, n*100+i))
		}
		f.result(r.ID, `{"tools":[`+strings.Join(tools, ",")+`]`+next+`}`)
	case f.has("endless"):
		f.result(r.ID, `{"tools":[{"name":"only","inputSchema":{}}],"nextCursor":"again"}`)
	default:
		tools := fakeTools
		if f.extra {
			tools += `,{"name":"new","inputSchema":{}}`
		}
		f.result(r.ID, `{"tools":[`+tools+`]}`)
	}
}

func (f *fake) call(r fakeRequest) {
	size, _ := r.Params.Arguments["size"].(float64)
	switch r.Params.Name {
	case "echo":
		args, _ := json.Marshal(r.Params.Arguments)
		f.result(r.ID, `{"content":[],"odd":9007199254740993,"structuredContent":`+string(args)+`}`)
	case "pid":
		f.text(r.ID, strconv.Itoa(os.Getpid()))
	case "folder":
		folder, _ := os.Getwd()
		f.text(r.ID, folder)
	case "environ":
		f.text(r.ID, strings.Join(os.Environ(), "\n"))
	case "meta":
		meta, _ := json.Marshal(r.Params.Meta)
		f.result(r.ID, `{"content":[],"structuredContent":`+string(meta)+`}`)
	case "steps":
		token, _ := json.Marshal(r.Params.Meta["progressToken"])
		for _, t := range []string{string(token), `"nobody"`, "7", string(token)} {
			f.write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + t + `,"progress":1,"message":"on"}}`)
		}
		f.text(r.ID, "done")
	case "offerchange":
		f.write(`{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`)
		f.write(`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`)
		f.text(r.ID, "changed")
	case "never":
	case "die":
		fmt.Fprintln(os.Stderr, "panic: out of cheese")
		os.Exit(7)
	case "fail":
		f.error(r.ID, -32050, "no luck")
	case "notobject":
		f.result(r.ID, `[1]`)
	case "stringid":
		f.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":"%s","result":{"content":[]}}`, r.ID))
	case "batch":
		f.write(fmt.Sprintf(`[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}]`, r.ID))
	case "surrogate":
		f.write(fmt.Sprintf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[],\"bad\":\"\xff\"}}", r.ID))
	case "broken":
		f.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[}}`, r.ID))
		f.text(r.ID, "after the broken one")
	case "garbage":
		f.write(strings.Repeat("not json\n", int(size)))
		f.text(r.ID, "after the garbage")
	case "big":
		f.bulk(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, r.ID), int(size), `"}]}}`)
	case "idlast":
		f.bulk(`{"result":{"content":[{"type":"text","id":99,"text":"`, int(size), fmt.Sprintf(`\"},{"}]},"jsonrpc":"2.0","id":%s}`, r.ID))
	case "bignotification":
		f.bulk(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"`, int(size), `"}}`)
		f.text(r.ID, "after the notification")
	case "spawn":
		cmd := exec.Command("sleep", "600")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			f.error(r.ID, -32000, err.Error())
			return
		}
		group := exec.Command("sleep", "600")
		_ = group.Start()
		f.text(r.ID, fmt.Sprintf("%d %d", cmd.Process.Pid, group.Process.Pid))
	case "change":
		f.extra = !f.extra
		f.write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		f.text(r.ID, "changed")
	case "ask":
		go f.ask(r, "ping", "roots/list", "sampling/createMessage")
	case "cancels":
		f.text(r.ID, strings.Join(f.cancels, ","))
	case "sleepreading": // stops reading its input
		<-time.After(time.Hour)
	case "closeoutput":
		os.Stdout.Close()
	case "elicit":
		go f.ask(r, "elicitation/create")
	case "needinput":
		if r.Params.RequestState == "s" {
			f.text(r.ID, string(r.Params.InputResponses))
			return
		}
		f.result(r.ID, `{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}},"requestState":"s"}`)
	default:
		f.error(r.ID, -32602, "unknown tool "+r.Params.Name)
	}
}

// offers are the capabilities beside tools.
func (f *fake) offers() string {
	if f.has("offers") {
		return `,"resources":{"listChanged":true},"prompts":{"listChanged":true}`
	}
	return ""
}

// offer answers for resources and prompts.
func (f *fake) offer(r fakeRequest) {
	switch {
	case !f.has("offers"):
		f.error(r.ID, -32601, "method not found")
	case r.Method == "resources/list" && f.has("endless"):
		f.result(r.ID, `{"resources":[{"uri":"a:1"}],"nextCursor":"again"}`)
	case r.Method == "resources/list" && r.Params.Cursor == "":
		f.result(r.ID, `{"resources":[{"uri":"a:1","name":"one","size":9007199254740993},7,null],"nextCursor":"2"}`)
	case r.Method == "resources/list":
		f.result(r.ID, `{"resources":[{"uri":"a:2","name":"two"}]}`)
	case r.Method == "resources/templates/list":
		f.result(r.ID, `{"resourceTemplates":"none"}`)
	case r.Method == "resources/read" && r.Params.URI == "a:1":
		f.result(r.ID, `{"contents":[{"uri":"a:1","text":"text of one","odd":9007199254740993}]}`)
	case r.Method == "prompts/list":
		f.result(r.ID, `{"prompts":[{"name":"greet","arguments":[{"name":"who","required":true}]}]}`)
	case r.Method == "prompts/get":
		args, _ := json.Marshal(r.Params.Arguments)
		f.result(r.ID, `{"messages":[{"role":"user","content":{"type":"text","text":`+strconv.Quote(string(args))+`}}]}`)
	default:
		f.error(r.ID, -32002, "no such resource")
	}
}

// ask sends the client some requests and returns its answers.
func (f *fake) ask(r fakeRequest, methods ...string) {
	var answers []string
	for i, method := range methods {
		id := strconv.Quote("q" + strconv.Itoa(i))
		ch := make(chan json.RawMessage, 1)
		f.mu.Lock()
		f.answers[id] = ch
		f.mu.Unlock()
		f.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}`, id, method))
		answers = append(answers, string(<-ch))
	}
	f.text(r.ID, strings.Join(answers, "\n"))
}

func (f *fake) bulk(head string, size int, tail string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := bufio.NewWriterSize(os.Stdout, 1<<20)
	_, _ = w.WriteString(head)
	block := bytes.Repeat([]byte("x"), 1<<16)
	for size > 0 {
		n := min(size, len(block))
		_, _ = w.Write(block[:n])
		size -= n
	}
	_, _ = w.WriteString(tail + "\n")
	_ = w.Flush()
}
