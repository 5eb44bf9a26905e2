package integration

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// user answers questions, each after a while.
type user struct {
	thinks time.Duration
	answer mcp.ElicitationResponse

	mu    sync.Mutex
	asked []string
}

func (u *user) Elicit(_ context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	schema, err := json.Marshal(request.Params.RequestedSchema)
	if err != nil {
		return nil, err
	}
	u.asked = append(u.asked, request.Params.Message+" "+string(schema))
	<-time.After(u.thinks)
	return &mcp.ElicitationResult{ElicitationResponse: u.answer}, nil
}

func (u *user) questions() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.asked
}

// speak starts ptc-mcp and shakes hands with a client of the era, which has the
// user if there is one.
func speak(t *testing.T, era, config string, u *user) *mcpclient.Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var options []mcpclient.ClientOption
	if u != nil {
		options = append(options, mcpclient.WithElicitationHandler(u))
	}
	if era == "legacy" {
		options = append(options, mcpclient.WithProtocolVersion(mcp.LATEST_LEGACY_PROTOCOL_VERSION))
	}
	stdio := transport.NewStdio(ptcMCP, os.Environ(), "serve", "--config", path, "--log-level", "warn")
	c := mcpclient.NewClient(stdio, options...)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	request := mcp.InitializeRequest{}
	request.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	if _, err := c.Initialize(ctx, request); err != nil {
		t.Fatal(err)
	}
	if modern := mcp.IsModernProtocol(c.ProtocolVersion()); modern != (era == "modern") {
		t.Fatalf("the era is %s", c.ProtocolVersion())
	}
	return c
}

// called makes a call and returns its text.
func called(t *testing.T, c *mcpclient.Client, name string, arguments map[string]any) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	request := mcp.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = name, arguments
	result, err := c.CallTool(ctx, request)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var texts []string
	for _, content := range result.Content {
		if text, ok := content.(mcp.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// awaitAsking waits for the tool that asks, which its server lists a moment after
// the others.
func awaitAsking(t *testing.T, c *mcpclient.Client) {
	t.Helper()
	eventually(t, "the tool that asks is there", func() bool {
		return strings.Contains(called(t, c, "list_callable_tools", nil), "trigger_elicitation_request")
	})
}

const asking = `print(await mcp__everything__trigger_elicitation_request())`

// TestAServersQuestionReachesTheUser has limits on the time of calls and runs
// that the user exceeds.
func TestAServersQuestionReachesTheUser(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			u := &user{thinks: 3 * time.Second, answer: mcp.ElicitationResponse{
				Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"name": "Ada", "email": "ada@example.com"},
			}}
			config := on(t, "native").everything().filter(`direct: ["mcp__everything__trigger_elicitation_request"]`).
				limit("timeout_seconds", 2).limit("tool_call_timeout_seconds", 2)
			c := speak(t, era, config.String(), u)
			awaitAsking(t, c)
			for i, text := range []string{
				called(t, c, "execute_program", map[string]any{"code": asking}),
				called(t, c, "mcp__everything__trigger_elicitation_request", nil),
			} {
				if !strings.Contains(text, "Ada") || !strings.Contains(text, "ada@example.com") {
					t.Errorf("call %d gave %s", i, text)
				}
			}
			asked := u.questions()
			if len(asked) != 2 {
				t.Fatalf("asked %q", asked)
			}
			for _, q := range asked {
				if !strings.HasPrefix(q, `Server "everything" asks: `) || !strings.Contains(q, `"email"`) {
					t.Errorf("the user was asked %s", q)
				}
			}
		})
	}
}

func TestAQuestionThatTheUserDeclinesIsDeclined(t *testing.T) {
	u := &user{answer: mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionDecline}}
	c := speak(t, "modern", on(t, "native").everything().String(), u)
	awaitAsking(t, c)
	if text := called(t, c, "execute_program", map[string]any{"code": asking}); !strings.Contains(text, "declined") {
		t.Errorf("got %s", text)
	}
}

// A server is told at the handshake whether there is anybody to ask:
// server-everything has the tool only then.
func TestAServerIsNotToldThatItMayAskWhereItMayNot(t *testing.T) {
	off := on(t, "native").everything()
	off.servers[0] += "    elicitation: false\n"
	for name, c := range map[string]*mcpclient.Client{
		"a client that cannot ask": speak(t, "legacy", on(t, "native").everything().String(), nil),
		"elicitation: false":       speak(t, "legacy", off.String(), &user{}),
	} {
		var list string
		eventually(t, "the server is there", func() bool {
			list = called(t, c, "list_callable_tools", nil)
			return strings.Contains(list, "mcp__everything__echo")
		})
		// It would have said so by the time that it answers a call.
		called(t, c, "execute_program", map[string]any{"code": "await mcp__everything__echo(message='x')"})
		if list = called(t, c, "list_callable_tools", nil); strings.Contains(list, "elicitation") {
			t.Errorf("%s: %s", name, list)
		}
	}
}
