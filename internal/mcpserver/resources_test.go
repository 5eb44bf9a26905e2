package mcpserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// growing is a catalogue whose folders a test changes.
type growing struct {
	*fakeServers
	mu      sync.Mutex
	folders map[string][]tool.Module
}

func (g *growing) set(folder string, tools ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	modules := []tool.Module{}
	for _, name := range tools {
		modules = append(modules, tool.Module{Name: name, Callable: "mcp__" + folder + "__" + name, Summary: "Does " + name + "."})
	}
	g.folders[folder] = modules
}

func (g *growing) Folders() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	names := []string{}
	for name := range g.folders {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (g *growing) Folder(name string) ([]tool.Module, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.folders[name] == nil {
		return nil, tool.Errorf(name, tool.KindArguments, "no such server")
	}
	return g.folders[name], nil
}

func growingServer(t *testing.T) (*growing, *Server) {
	b := newBench(t)
	g := &growing{fakeServers: b.servers, folders: map[string][]tool.Module{}}
	g.set("files", "read")
	return g, New(g, b.runs, b.Server.opts)
}

// dial connects a client of an era and returns what its requests carry.
func dial(t *testing.T, server *Server, era string) (*client, string) {
	t.Helper()
	c := connect(t, server)
	if era == "modern" {
		return c, modernMeta
	}
	c.send("%s", legacyHello)
	if hello := c.line(); !strings.Contains(hello, `"resources":{"subscribe":true,"listChanged":true}`) || !strings.Contains(hello, `"completions":{}`) {
		t.Errorf("initialize: %s", hello)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c, `"_meta":{}`
}

func TestTheTreeOfWrapperFilesIsReadInBothEras(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		b := newBench(t)
		c, meta := dial(t, b.Server, era)
		for _, test := range []struct {
			name, method, params string
			want                 []string
		}{
			{"the list names servers, not tools", "resources/list", ``, []string{`"uri":"ptc://servers"`, `"uri":"ptc://servers/crm"`, `"uri":"ptc://servers/github"`}},
			{"the templates", "resources/templates/list", ``, []string{`"uriTemplate":"ptc://servers/{server}"`, `"uriTemplate":"ptc://servers/{server}/{tool}.py"`}},
			{"the servers", "resources/read", `"uri":"ptc://servers",`, []string{`ptc://servers/crm\tcrm: server is not connected\nptc://servers/files\t1 tool\n`}},
			{"one server", "resources/read", `"uri":"ptc://servers/github",`, []string{`ptc://servers/github/list_issues.py\tLists issues.\n`, `"mimeType":"text/plain"`}},
			{"one tool", "resources/read", `"uri":"ptc://servers/github/list_issues.py",`, []string{`async def list_issues`, `"mimeType":"text/x-python"`}},
			{"a server that is not connected", "resources/read", `"uri":"ptc://servers/crm",`, []string{`"error":{"code":-32603`, "crm: server is not connected"}},
			{"a server that is not there", "resources/read", `"uri":"ptc://servers/nope",`, []string{`"error":{"code":-32`, "no such server"}},
			{"a tool that is not there", "resources/read", `"uri":"ptc://servers/github/nope.py",`, []string{`"error":{"code":-32`, "ptc://servers/github lists what it has"}},
			{"what is not in the tree", "resources/read", `"uri":"file:///etc/passwd",`, []string{`"error":{"code":-32`}},
			{"what leads out of it", "resources/read", `"uri":"ptc://servers/../x",`, []string{`"error":{"code":-32`}},
			{"completion of a server", "completion/complete", `"ref":{"type":"ref/resource","uri":"ptc://servers/{server}"},"argument":{"name":"server","value":"F"},`, []string{`"values":["files"]`, `"total":1`}},
			{"completion of a tool", "completion/complete", `"ref":{"type":"ref/resource","uri":"ptc://servers/{server}/{tool}.py"},"argument":{"name":"tool","value":""},"context":{"arguments":{"server":"github"}},`, []string{`"values":["list_issues"]`}},
			{"completion of any tool", "completion/complete", `"ref":{"type":"ref/resource","uri":"ptc://servers/{server}/{tool}.py"},"argument":{"name":"tool","value":"re"},`, []string{`"values":["read"]`}},
			{"completion of nothing", "completion/complete", `"ref":{"type":"ref/resource","uri":"other:{x}"},"argument":{"name":"x","value":""},`, []string{`"values":[]`}},
		} {
			c.send(`{"jsonrpc":"2.0","id":"q","method":%q,"params":{%s%s}}`, test.method, test.params, meta)
			got := c.line()
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("%s, %s: got %s, want %s", era, test.name, got, want)
				}
			}
			notThere := map[string]string{"legacy": `"code":-32002`, "modern": `"code":-32602`}[era]
			if strings.HasSuffix(test.name, "is not there") && !strings.Contains(got, notThere) {
				t.Errorf("%s, %s: got %s, want %s", era, test.name, got, notThere)
			}
			if strings.Contains(test.name, "list names") && strings.Contains(got, ".py") {
				t.Errorf("the list grows with the tools: %s", got)
			}
		}
	}
}

func TestTheListOfServersHasPages(t *testing.T) {
	g, server := growingServer(t)
	c, _ := dial(t, server, "legacy")
	c.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	c.line()
	for i := range 250 {
		g.set(fmt.Sprintf("s%03d", i), "x")
	}
	server.CatalogChanged()
	c.line() // the news of them
	var seen []string
	for cursor, pages := "", 0; ; pages++ {
		c.send(`{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"cursor":%q}}`, cursor)
		var page struct {
			Result struct {
				Resources  []struct{ URI string }
				NextCursor string
			}
		}
		if err := json.Unmarshal([]byte(c.line()), &page); err != nil || len(page.Result.Resources) > resourcesOnAPage || pages > 5 {
			t.Fatalf("page %d of %d resources, %v", pages, len(page.Result.Resources), err)
		}
		for _, r := range page.Result.Resources {
			seen = append(seen, r.URI)
		}
		if cursor = page.Result.NextCursor; cursor == "" {
			break
		}
	}
	slices.Sort(seen)
	if len(slices.Compact(seen)) != 252 {
		t.Errorf("%d resources in all", len(seen))
	}
}

func TestListingsAreBounded(t *testing.T) {
	g, server := growingServer(t)
	var names []string
	for i := range 5000 {
		names = append(names, fmt.Sprintf("%s_%04d", strings.Repeat("tool", 10), i))
	}
	g.set("many", names...)
	text, _, err := server.treeText("ptc://servers/many")
	if err != nil || len(text) > maxListingBytes+200 || !strings.Contains(text[len(text)-100:], "more; search_tools finds them\n") {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	completion, err := treeCompletion{g}.CompleteResourceArgument(t.Context(), moduleTemplate, completeArgument("tool", "tooltool"), completeContext("many"))
	if err != nil || len(completion.Values) != 100 || completion.Total != 5000 || !completion.HasMore {
		t.Errorf("%d of %d, %v", len(completion.Values), completion.Total, err)
	}
}

func TestChangesOfTheTreeAreTold(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			g, server := growingServer(t)
			c, _ := dial(t, server, era)
			tag := ""
			if era == "legacy" {
				for _, uri := range []string{"ptc://servers/files", "ptc://servers"} {
					c.send(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":%q}}`, uri)
					if got := c.line(); !strings.Contains(got, `"result":{}`) {
						t.Fatal(got)
					}
				}
				c.send(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///x"}}`)
				if got := c.line(); !strings.Contains(got, `"error"`) {
					t.Error(got)
				}
			} else {
				c.send(`{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"notifications":{"resourcesListChanged":true,"resourceSubscriptions":["ptc://servers","ptc://servers/files"]},%s}}`, modernMeta)
				if ack := c.line(); !strings.Contains(ack, `"resourceSubscriptions":["ptc://servers","ptc://servers/files"]`) {
					t.Fatal(ack)
				}
				tag = `"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"},`
			}
			updated := func(uri string) string {
				return `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{` + tag + `"uri":"` + uri + `"}}`
			}
			expect := func(want string) {
				t.Helper()
				if got := c.line(); got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}
			g.set("files", "write")
			server.CatalogChanged()
			expect(updated("ptc://servers/files"))

			g.set("github", "x")
			server.CatalogChanged()
			if got := c.line(); !strings.Contains(got, "notifications/resources/list_changed") {
				t.Error(got)
			}
			expect(updated("ptc://servers"))

			server.CatalogChanged() // nothing
			if era == "legacy" {
				c.send(`{"jsonrpc":"2.0","id":2,"method":"resources/unsubscribe","params":{"uri":"ptc://servers"}}`)
			} else {
				c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"sub"}}`)
				c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{%s}}`, modernMeta)
			}
			if got := c.line(); !strings.Contains(got, `"id":2`) {
				t.Errorf("told of %s", got)
			}
		})
	}
}

func completeArgument(name, value string) mcp.CompleteArgument {
	return mcp.CompleteArgument{Name: name, Value: value}
}

func completeContext(server string) mcp.CompleteContext {
	return mcp.CompleteContext{Arguments: map[string]string{"server": server}}
}
