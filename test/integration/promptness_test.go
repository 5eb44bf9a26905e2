package integration

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ptc-mcp/ptc-mcp/test/clients"
)

// promptly is how soon after a server's word the catalogue is right, for the
// client and for programs.
const promptly = 100 * time.Millisecond

// delays are how long after an event it was seen, by what it was seen.
type delays struct {
	mu   sync.Mutex
	seen map[string][]time.Duration
}

func (d *delays) add(by string, delay time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen == nil {
		d.seen = map[string][]time.Duration{}
	}
	d.seen[by] = append(d.seen[by], delay)
}

// late names what is not prompt, by the median of its delays.
func (d *delays) late(t *testing.T) []string {
	var late []string
	for _, by := range slices.Sorted(maps.Keys(d.seen)) {
		all := slices.Sorted(slices.Values(d.seen[by]))
		median := all[len(all)/2]
		t.Logf("%s: median %v of %d, from %v to %v", by, median, len(all), all[0], all[len(all)-1])
		if median >= promptly {
			late = append(late, by)
		}
	}
	return late
}

// prompt measures until all medians are prompt, three times at most: what other
// work on the machine costs is not the catalogue's.
func prompt(t *testing.T, measure func(d *delays)) {
	t.Helper()
	var late []string
	for range 3 {
		d := &delays{}
		measure(d)
		if late = d.late(t); len(late) == 0 {
			return
		}
	}
	t.Errorf("seen later than %v in the median: %v", promptly, late)
}

// until polls without a pause that matters and returns when what it polls
// became true.
func until(t *testing.T, what string, holds func() bool) time.Time {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		asked := time.Now()
		if holds() {
			return asked
		}
		if asked.After(deadline) {
			t.Errorf("never came true: %s", what)
			return asked
		}
		<-tick.C
	}
}

// journaled returns the times of the events of a kind in a test server's
// journal.
func journaled(t *testing.T, path, kind string) []time.Time {
	t.Helper()
	var times []time.Time
	text, _ := os.ReadFile(path) // there is none before the first event
	for line := range strings.Lines(string(text)) {
		var e struct {
			Event string
			At    int64
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Error(err)
		}
		if e.Event == kind {
			times = append(times, time.Unix(0, e.At))
		}
	}
	return times
}

func TestAChangedListIsRightWithin100Milliseconds(t *testing.T) {
	for _, mode := range []struct{ transport, era string }{{"stdio", "legacy"}, {"stdio", "modern"}, {"http", "legacy"}, {"http", "modern"}} {
		t.Run(mode.transport+" "+mode.era, func(t *testing.T) {
			journal := filepath.Join(t.TempDir(), "journal")
			config := on(t, "native").filter(`direct: ["mcp__t__change", "mcp__t__new*"]`)
			if mode.transport == "stdio" {
				config.test("t", "-change", "-era", mode.era)
				config.servers[0] += "    env: {PTC_TESTSERVER_JOURNAL: " + quote(journal) + "}\n"
			} else {
				config.remote("t", "http", startTestServer(t, journal, "-change", "-era", mode.era))
			}
			c := serve(t, config.String())
			c.output("await mcp__t__echo(message='warm')")
			next := 0
			prompt(t, func(d *delays) {
				for range 5 {
					next++
					name := "new" + strconv.Itoa(next)
					watchChange(t, c, d, journal, name, "add")
					watchChange(t, c, d, journal, name, "remove")
				}
			})
		})
	}
}

// watchChange has the server add or remove a tool, and watches who sees it when.
func watchChange(t *testing.T, c *client, d *delays, journal, name, change string) {
	t.Helper()
	callable, added := "mcp__t__"+name, change == "add"
	told := len(c.Notifications())
	var changed time.Time
	c.request("tools/call", map[string]any{"name": "mcp__t__change", "arguments": map[string]any{change: name}})
	if times := journaled(t, journal, "changed"); len(times) > 0 {
		changed = times[len(times)-1]
	}
	var watching sync.WaitGroup
	watch := func(by string, sees func() bool) {
		watching.Go(func() { d.add(by, until(t, by+" "+change+" "+name, sees).Sub(changed)) })
	}
	watch("list_callable_tools", func() bool {
		return strings.Contains(c.callTool("list_callable_tools", nil).Text[0], `"`+callable+`"`) == added
	})
	watch("search_tools", func() bool {
		return strings.Contains(c.callTool("search_tools", map[string]any{"query": name}).Text[0], callable+"(") == added
	})
	watch("a program", func() bool { return c.execute("await "+callable+"()").IsError != added })
	watching.Go(func() {
		var notice clients.Message
		until(t, "a notification", func() bool {
			all := c.Notifications()[told:]
			i := slices.IndexFunc(all, func(m clients.Message) bool { return m.Method == "notifications/tools/list_changed" })
			if i >= 0 {
				notice = all[i]
			}
			return i >= 0
		})
		d.add("the client's notification", notice.At.Sub(changed))
	})
	watching.Wait()
}

// startTestServer starts the test server over HTTP and returns its URL.
func startTestServer(t *testing.T, journal string, args ...string) string {
	t.Helper()
	cmd := exec.Command(testServer, append([]string{"-http", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), "PTC_TESTSERVER_JOURNAL="+journal)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(url)
}

func TestAServerThatEndsAndComesBackIsNoticedWithin100Milliseconds(t *testing.T) {
	prompt(t, func(d *delays) {
		folder := t.TempDir()
		config := on(t, "native")
		// Each notes its process, and does not start while the file is there.
		hold := filepath.Join(folder, "hold")
		const script = `[ -e "$1" ] && exit 7; echo $$ >"$2"; shift 2; exec "$@"`
		add := func(name string, argv ...string) {
			config.stdio(name, append([]string{"sh", "-c", script, "sh", hold, filepath.Join(folder, name)}, argv...)...)
		}
		names := []string{"one", "two", "three", "everything"}
		for _, name := range names[:3] {
			add(name, testServer)
			config.servers[len(config.servers)-1] += "    env: {PTC_TESTSERVER_JOURNAL: " + quote(filepath.Join(folder, name+".journal")) + "}\n"
		}
		add("everything", "node", npmServer("everything"), "stdio")
		c := serve(t, config.String())
		listed := func(name string) bool {
			return strings.Contains(c.callTool("list_callable_tools", nil).Text[0], `"mcp__`+name+`__echo"`)
		}
		for _, name := range names {
			until(t, name+" is there", func() bool { return listed(name) })
		}
		if err := os.WriteFile(hold, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			pid, err := strconv.Atoi(strings.TrimSpace(readFile(t, filepath.Join(folder, name))))
			if err != nil {
				t.Fatal(err)
			}
			killed := time.Now()
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			d.add("an end", until(t, name+" is gone", func() bool { return !listed(name) }).Sub(killed))
			if list := c.callTool("list_callable_tools", nil); len(list.Text) < 2 || !strings.Contains(list.Text[1], name+": down: ") {
				t.Errorf("nothing is said of %s: %v", name, list.Text)
			}
		}
		if err := os.Remove(hold); err != nil {
			t.Fatal(err)
		}
		var returns sync.WaitGroup
		for _, name := range names[:3] {
			returns.Go(func() {
				back := until(t, name+" is back", func() bool { return listed(name) })
				times := journaled(t, filepath.Join(folder, name+".journal"), "started")
				d.add("a return", back.Sub(times[len(times)-1]))
			})
		}
		returns.Wait()
	})
}

func TestACallWhoseServerEndsFailsWithin100Milliseconds(t *testing.T) {
	c := serve(t, on(t, "native").test("t", "-die-on-call", "increment").String())
	prompt(t, func(d *delays) {
		for range 3 {
			out := c.output("import time\nawait mcp__t__echo(message='there')\nbegan = time.time_ns()\n" +
				"try:\n    await mcp__t__increment()\nexcept ToolError as e:\n    print(time.time_ns() - began, e)\n")
			var took int64
			if _, err := fmt.Sscan(out, &took); err != nil || !strings.Contains(out, `the connection to server "t" was lost before it answered (server process ended: exit status 3)`) {
				t.Fatalf("%v: %s", err, out)
			}
			d.add("a call", time.Duration(took))
		}
	})
}
