//go:build unix

package downstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait in these tests; none of them needs it.
const patience = 60 * time.Second

func patient(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// startSession starts a session and waits for its first attempt to end.
func startSession(t testing.TB, config Config) *Session {
	t.Helper()
	s := New(config)
	s.timing.minBackoff = 50 * time.Millisecond
	s.Start()
	t.Cleanup(func() { s.Close() })
	select {
	case <-s.Settled():
	case <-patient(t).Done():
		t.Fatal("session did not settle")
	}
	return s
}

func connected(t testing.TB, config Config) *Session {
	t.Helper()
	s := startSession(t, config)
	if st := s.Status(); st.State != Connected || st.Err != nil {
		t.Fatalf("state %v, error %v, stderr %s", st.State, st.Err, st.Stderr)
	}
	return s
}

// eventually waits until the status satisfies ok.
func eventually(t testing.TB, s *Session, what string, ok func(Status) bool) Status {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if st := s.Status(); ok(st) {
			return st
		}
		select {
		case <-changed:
		case <-deadline.C:
			t.Fatalf("never %s; status %+v", what, s.Status())
		}
	}
}

func call(t testing.TB, s *Session, tool, arguments string) (json.RawMessage, error) {
	t.Helper()
	return s.Call(patient(t), tool, json.RawMessage(arguments))
}

func callText(t testing.TB, s *Session, tool, arguments string) string {
	t.Helper()
	raw, err := call(t, s, tool, arguments)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	var result struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(raw, &result); err != nil || len(result.Content) != 1 {
		t.Fatalf("%s: %v in %s", tool, err, beginning(raw))
	}
	return result.Content[0].Text
}

func names(tools []Tool) []string {
	var list []string
	for _, t := range tools {
		list = append(list, t.Name)
	}
	return list
}

var eras = []string{"legacy", "modern"}

func TestResultsKeepTheirBytes(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			s := connected(t, fakeConfig(t, era))
			raw, err := call(t, s, "echo", `{"n":9007199254740993,"s":"<&>é"}`)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(raw), `"odd":9007199254740993`) {
				t.Errorf("result was changed: %s", raw)
			}
			if st := s.Status(); st.ServerName != "fake" || st.ServerVersion != "1" || st.ConnectDuration <= 0 {
				t.Errorf("status: %+v", st)
			}
			want := map[string]string{"legacy": "2025-11-25", "modern": "2026-07-28"}[era]
			if got := s.Status().Protocol; got != want {
				t.Errorf("protocol %s, want %s", got, want)
			}
		})
	}
}

func TestModernRequestsCarryTheirMetadata(t *testing.T) {
	s := connected(t, fakeConfig(t, "modern"))
	raw, err := call(t, s, "meta", "")
	if err != nil || !strings.Contains(string(raw), `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`) {
		t.Errorf("%v: %s", err, raw)
	}
}

func TestAnswersThatAreOddStillCount(t *testing.T) {
	s := connected(t, fakeConfig(t, "legacy"))
	for _, tool := range []string{"stringid", "batch"} {
		if raw, err := call(t, s, tool, "{}"); err != nil || string(raw) != `{"content":[]}` {
			t.Errorf("%s: %v: %s", tool, err, raw)
		}
	}
	raw, err := call(t, s, "surrogate", "{}")
	if err != nil || !strings.Contains(string(raw), "\"bad\":\"\uFFFD\"") {
		t.Errorf("bytes that are not UTF-8: %v: %q", err, raw)
	}
	if got := callText(t, s, "broken", "{}"); got != "after the broken one" {
		t.Errorf("got %q", got)
	}
	if _, err := call(t, s, "notobject", "{}"); err == nil || !strings.Contains(err.Error(), "not an object") {
		t.Errorf("result that is an array: %v", err)
	}
	if _, err := call(t, s, "echo", `[1]`); err == nil || !strings.Contains(err.Error(), "arguments") {
		t.Errorf("arguments that are an array: %v", err)
	}
}

func TestRPCErrorsKeepCodeMessageAndData(t *testing.T) {
	for _, era := range eras {
		s := connected(t, fakeConfig(t, era))
		_, err := call(t, s, "fail", "{}")
		var rpc *RPCError
		if !errors.As(err, &rpc) || rpc.Code != -32050 || rpc.Message != "no luck" || string(rpc.Data) != `{"n":12345678901234567890}` {
			t.Errorf("%s: %#v", era, err)
		}
	}
}

func TestServersRequestsAreAnswered(t *testing.T) {
	s := connected(t, fakeConfig(t, "legacy"))
	answers := strings.Split(callText(t, s, "ask", "{}"), "\n")
	if answers[0] != "{}" || !strings.Contains(answers[1], "-32601") || !strings.Contains(answers[2], "-32601") {
		t.Errorf("answers: %q", answers)
	}
}

func TestInputRequestsInTheMiddleOfACallAreAClearError(t *testing.T) {
	s := connected(t, fakeConfig(t, "modern"))
	if _, err := call(t, s, "needinput", "{}"); err == nil || !strings.Contains(err.Error(), "asks for input") {
		t.Errorf("got %v", err)
	}
	if got := s.Status().State; got != Connected {
		t.Errorf("state %v", got)
	}
}

func TestManyCallsAtOnceAreMatchedByID(t *testing.T) {
	s := connected(t, fakeConfig(t, "legacy"))
	var wg sync.WaitGroup
	for i := range 500 {
		wg.Go(func() {
			raw, err := s.Call(patient(t), "echo", fmt.Appendf(nil, `{"i":%d}`, i))
			if err != nil || !strings.Contains(string(raw), fmt.Sprintf(`{"i":%d}`, i)) {
				t.Errorf("call %d: %v: %s", i, err, raw)
			}
		})
	}
	wg.Wait()
}

func TestServersGetAMinimalEnvironment(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "hunter2")
	config := fakeConfig(t, "legacy")
	config.Env["MINE"] = "yes"
	s := connected(t, config)
	for _, line := range strings.Split(callText(t, s, "environ", "{}"), "\n") {
		name, _, _ := strings.Cut(line, "=")
		if !slices.Contains(append(inherited(), "MINE", "GORACE", fakeEnv), name) {
			t.Errorf("server got %s", line)
		}
	}
}

func TestCommandsAreFoundInTheServersOwnPath(t *testing.T) {
	if _, err := lookCommand("sh", "", map[string]string{"PATH": t.TempDir()}); err == nil {
		t.Error("found sh in an empty folder")
	}
	if _, err := lookCommand("sh", "", map[string]string{"PATH": "/nowhere:/bin:/usr/bin"}); err != nil {
		t.Errorf("in the server's PATH: %v", err)
	}
}

func TestOutputThatIsNotJSONIsSkipped(t *testing.T) {
	s := connected(t, fakeConfig(t, "legacy chatty"))
	if got := callText(t, s, "garbage", `{"size":500}`); got != "after the garbage" {
		t.Errorf("got %q", got)
	}
	if got := strings.Count(s.Status().Stderr, "\n") + 1; got != stderrLines {
		t.Errorf("kept %d lines of stderr", got)
	}
	before := s.Status().Generation
	if _, err := call(t, s, "garbage", `{"size":3000}`); !errors.Is(err, ErrLost) {
		t.Errorf("endless garbage: %v", err)
	}
	eventually(t, s, "reconnected", func(st Status) bool { return st.State == Connected && st.Generation > before })
}

func TestDeathInTheMiddleOfACallIsALostConnection(t *testing.T) {
	for _, tool := range []string{"die", "closeoutput"} {
		t.Run(tool, func(t *testing.T) {
			s := connected(t, fakeConfig(t, "legacy"))
			waiting := make(chan error, 1)
			go func() {
				_, err := s.Call(patient(t), "never", nil)
				waiting <- err
			}()
			_, err := call(t, s, tool, "{}")
			if !errors.Is(err, ErrLost) {
				t.Fatalf("got %v", err)
			}
			if tool == "die" && !strings.Contains(err.Error(), "exit status 7: panic: out of cheese") {
				t.Errorf("error does not say why: %v", err)
			}
			if err := <-waiting; !errors.Is(err, ErrLost) {
				t.Errorf("other call: %v", err)
			}
			// A retry made now must not meet the dead connection.
			if err := s.Connected(patient(t)); err != nil {
				t.Fatal(err)
			}
			if raw, err := call(t, s, "echo", "{}"); err != nil {
				t.Errorf("after reconnecting: %v: %s", err, raw)
			}
		})
	}
}

func TestIdleDeathIsNoticedAtOnce(t *testing.T) {
	for _, behaviour := range []string{"legacy", "modern", "legacy childholdsoutput"} {
		t.Run(behaviour, func(t *testing.T) {
			s := connected(t, fakeConfig(t, behaviour))
			pid, _ := strconv.Atoi(callText(t, s, "pid", "{}"))
			generation := s.Status().Generation
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			eventually(t, s, "noticed", func(st Status) bool { return st.Generation > generation })
			eventually(t, s, "reconnected", func(st Status) bool { return st.State == Connected && len(st.Tools) == 1 })
		})
	}
}

func TestAServerThatCannotStartSaysWhy(t *testing.T) {
	s := startSession(t, fakeConfig(t, "exit"))
	st := s.Status()
	if st.State != Down || !strings.Contains(st.Err.Error(), "exit status 3: no such database: inventory") {
		t.Errorf("%v: %v", st.State, st.Err)
	}
	if _, err := call(t, s, "echo", "{}"); !errors.Is(err, ErrDown) || !strings.Contains(err.Error(), "inventory") {
		t.Errorf("call: %v", err)
	}
	config := fakeConfig(t, "")
	config.Command = "no-such-command-anywhere"
	s = startSession(t, config)
	if err := s.Status().Err; err == nil || !strings.Contains(err.Error(), `"no-such-command-anywhere"`) {
		t.Errorf("missing command: %v", err)
	}
}

func TestASilentServerTimesOutOnItsOwn(t *testing.T) {
	config := fakeConfig(t, "mute")
	config.ConnectTimeout = 300 * time.Millisecond
	s := startSession(t, config)
	if st := s.Status(); st.State != Down || !strings.Contains(st.Err.Error(), "no answer in time") {
		t.Errorf("%v: %v", st.State, st.Err)
	}
}

func TestServersThatDoNotKnowDiscoverAreReached(t *testing.T) {
	for _, behaviour := range []string{"dieondiscover", "ignorediscover"} {
		config := fakeConfig(t, behaviour)
		if behaviour == "ignorediscover" {
			config.ConnectTimeout = 6 * time.Second // of which the probe gets a third
		}
		s := connected(t, config)
		if got := s.Status().Protocol; got != "2025-11-25" {
			t.Errorf("%s: protocol %s", behaviour, got)
		}
	}
}

func TestAHangingListDoesNotBlockCalls(t *testing.T) {
	config := fakeConfig(t, "legacy hanglist")
	config.ListTimeout = 200 * time.Millisecond
	s := startSession(t, config)
	st := s.Status()
	if st.State != Connected || st.Err == nil || len(st.Tools) != 0 {
		t.Fatalf("status %+v", st)
	}
	if _, err := call(t, s, "echo", "{}"); err != nil {
		t.Errorf("call: %v", err)
	}

	config = fakeConfig(t, "legacy hangsecondlist")
	config.ListTimeout = 200 * time.Millisecond
	s = connected(t, config)
	callText(t, s, "change", "{}")
	eventually(t, s, "reported", func(st Status) bool { return st.Err != nil })
	if st := s.Status(); st.State != Connected || len(st.Tools) != 1 {
		t.Errorf("status %+v", st)
	}
	eventually(t, s, "listed again", func(st Status) bool { return st.Err == nil && len(st.Tools) == 2 })
}

func TestAFailedListIsReadAgain(t *testing.T) {
	s := startSession(t, fakeConfig(t, "legacy faillist"))
	eventually(t, s, "listed", func(st Status) bool { return st.State == Connected && st.Err == nil && len(st.Tools) == 1 })
}

func TestTheToolListIsFollowed(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			s := connected(t, fakeConfig(t, era))
			changes := make(chan struct{}, 10)
			s.OnChange(func() { changes <- struct{}{} })
			callText(t, s, "change", "{}")
			eventually(t, s, "grown", func(st Status) bool { return slices.Equal(names(st.Tools), []string{"echo", "new"}) })
			select {
			case <-changes:
			case <-patient(t).Done():
				t.Fatal("OnChange was not called")
			}
			callText(t, s, "change", "{}")
			eventually(t, s, "shrunk", func(st Status) bool { return slices.Equal(names(st.Tools), []string{"echo"}) })
		})
	}
}

func TestOneBadToolDoesNotCostTheOthers(t *testing.T) {
	for _, era := range eras {
		s := connected(t, fakeConfig(t, era+" badtools"))
		tools := s.Status().Tools
		if got, want := names(tools), []string{"echo", "union", "bool", "noschema", "mixed"}; !slices.Equal(got, want) {
			t.Fatalf("%s: listed %q, want %q", era, got, want)
		}
		echo, union, boolean, none := tools[0], tools[1], tools[2], tools[3]
		if string(echo.InputSchema) != `{"type":"object","x-odd":[1,{"big":9007199254740993}]}` || echo.OutputSchema != nil {
			t.Errorf("schemas of echo: %s, %s", echo.InputSchema, echo.OutputSchema)
		}
		if echo.ReadOnly == nil || !*echo.ReadOnly || echo.Destructive != nil || echo.Title != "Echo" || string(echo.Raw) != fakeTools {
			t.Errorf("echo: %+v", echo)
		}
		if string(union.InputSchema) != `{"type":["object","null"]}` || string(union.OutputSchema) != "true" {
			t.Errorf("union: %s %s", union.InputSchema, union.OutputSchema)
		}
		if string(boolean.InputSchema) != "true" || boolean.ReadOnly != nil || none.InputSchema != nil {
			t.Errorf("bool: %+v, noschema: %+v", boolean, none)
		}
	}
}

func TestListsArePagedAndBounded(t *testing.T) {
	if got := len(connected(t, fakeConfig(t, "legacy pages")).Status().Tools); got != 5000 {
		t.Errorf("paged list has %d tools", got)
	}
	if got := names(connected(t, fakeConfig(t, "legacy endless")).Status().Tools); !slices.Equal(got, []string{"only"}) {
		t.Errorf("endless list: %q", got)
	}
	if got := connected(t, fakeConfig(t, "legacy notools")).Status().Tools; len(got) != 0 {
		t.Errorf("server without tools has %q", names(got))
	}
}

func TestCancellingACallTellsTheServer(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			s := connected(t, fakeConfig(t, era))
			ctx, cancel := context.WithCancel(patient(t))
			ended := make(chan error, 1)
			go func() {
				_, err := s.Call(ctx, "never", nil)
				ended <- err
			}()
			callText(t, s, "pid", "{}") // by now the other may have been sent, or not: both are fine
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v", err)
			}
			timed, stop := context.WithTimeout(patient(t), 100*time.Millisecond)
			defer stop()
			if _, err := s.Call(timed, "never", nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("got %v", err)
			}
			// The notification goes out beside the call, so ask until it is there.
			for ctx := patient(t); callText(t, s, "cancels", "{}") == ""; {
				if ctx.Err() != nil {
					t.Fatal("server was not told")
				}
			}
		})
	}
}

func TestAServerThatDoesNotReadHoldsNobodyUp(t *testing.T) {
	s := connected(t, fakeConfig(t, "legacy"))
	ctx, cancel := context.WithTimeout(patient(t), 500*time.Millisecond)
	defer cancel()
	big := fmt.Sprintf(`{"s":%q}`, strings.Repeat("x", 1<<20))
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = s.Call(ctx, "sleepreading", nil) })
	for range 10 {
		wg.Go(func() {
			if _, err := s.Call(ctx, "echo", json.RawMessage(big)); err == nil {
				// It may have been read before the server fell asleep.
				return
			} else if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	}
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("calls outlived their deadline")
	}
}

func TestResultsWithinTheLimitPass(t *testing.T) {
	config := fakeConfig(t, "legacy")
	config.MaxResultBytes = 65 << 20
	s := connected(t, config)
	raw, err := call(t, s, "big", fmt.Sprintf(`{"size":%d}`, 64<<20))
	if err != nil || len(raw) < 64<<20 {
		t.Fatalf("%d bytes: %v", len(raw), err)
	}
}

func TestResultsOverTheLimitFailAlone(t *testing.T) {
	s := connected(t, fakeConfig(t, "legacy"))
	waiting := make(chan error, 1)
	ctx, cancel := context.WithCancel(patient(t))
	go func() {
		_, err := s.Call(ctx, "never", nil)
		waiting <- err
	}()
	generation := s.Status().Generation
	const size = 128 << 20
	for _, tool := range []string{"big", "idlast"} {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := call(t, s, tool, fmt.Sprintf(`{"size":%d}`, size))
		runtime.ReadMemStats(&after)
		var tooLarge *TooLargeError
		if !errors.Is(err, ErrTooLarge) || !errors.As(err, &tooLarge) || tooLarge.Limit != 1<<20 {
			t.Fatalf("%s: %v", tool, err)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > size/4 {
			t.Errorf("%s: allocated %d MB for a message of %d MB", tool, grown>>20, size>>20)
		}
	}
	// Small enough to be read, too large to be a result.
	if _, err := call(t, s, "big", fmt.Sprintf(`{"size":%d}`, 3<<20)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("3 MB: %v", err)
	}
	if got := callText(t, s, "bignotification", fmt.Sprintf(`{"size":%d}`, 32<<20)); got != "after the notification" {
		t.Errorf("got %q", got)
	}
	if now := s.Status(); now.Generation != generation || now.State != Connected {
		t.Errorf("session was disturbed: %+v", now)
	}
	select {
	case err := <-waiting:
		t.Errorf("another call ended: %v", err)
	default:
	}
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("another call: %v", err)
	}
}

func TestCloseLeavesNoProcess(t *testing.T) {
	for _, behaviour := range []string{"legacy", "legacy stubborn"} {
		t.Run(behaviour, func(t *testing.T) {
			s := connected(t, fakeConfig(t, behaviour))
			pids := []string{callText(t, s, "pid", "{}")}
			pids = append(pids, strings.Fields(callText(t, s, "spawn", "{}"))...)
			began := time.Now()
			ended := make(chan error, 1)
			go func() {
				_, err := s.Call(context.Background(), "never", nil)
				ended <- err
			}()
			for range 2 {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
			if err := <-ended; !errors.Is(err, ErrLost) && !errors.Is(err, ErrDown) {
				t.Errorf("call: %v", err)
			}
			for _, pid := range pids {
				awaitGone(t, pid)
			}
			if err := s.Connected(context.Background()); !errors.Is(err, ErrDown) {
				t.Errorf("Connected after Close: %v", err)
			}
		})
	}
}

// awaitGone waits until a process is gone; an orphan may be a zombie for the
// moment its new parent needs.
func awaitGone(t *testing.T, pid string) {
	t.Helper()
	for ctx := patient(t); ; {
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		stat, _ := os.ReadFile("/proc/" + pid + "/stat")
		if errors.Is(syscall.Kill(n, 0), syscall.ESRCH) || strings.Contains(string(stat), ") Z ") {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("process %s is still there: %s", pid, stat)
		}
		runtime.Gosched()
	}
}

func TestASuddenDeathLeavesNoProcess(t *testing.T) {
	s := connected(t, fakeConfig(t, "legacy"))
	pids := strings.Fields(callText(t, s, "spawn", "{}"))
	s.mu.Lock()
	tree := &s.conn.link.(*stdioLink).process.tree
	s.mu.Unlock()
	tree.remember() // what otherwise happens now and then
	if _, err := call(t, s, "die", "{}"); !errors.Is(err, ErrLost) {
		t.Fatal(err)
	}
	for _, pid := range pids {
		awaitGone(t, pid)
	}
}

func TestCloseBeforeStartAndInTheMiddleOfConnecting(t *testing.T) {
	s := New(fakeConfig(t, "legacy"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s.Start()
	<-s.Settled()

	s = New(fakeConfig(t, "mute"))
	s.Start()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	<-s.Settled()
	if _, err := s.Call(context.Background(), "echo", nil); !errors.Is(err, ErrDown) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	for _, era := range eras {
		b.Run(era, func(b *testing.B) {
			s := connected(b, fakeConfig(b, era+" lean"))
			arguments := json.RawMessage(`{"a":1}`)
			for b.Loop() {
				if _, err := s.Call(context.Background(), "echo", arguments); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLargeResult(b *testing.B) {
	config := fakeConfig(b, "legacy")
	config.MaxResultBytes = 16 << 20
	s := connected(b, config)
	b.SetBytes(10 << 20)
	for b.Loop() {
		if _, err := s.Call(context.Background(), "big", json.RawMessage(`{"size":10485760}`)); err != nil {
			b.Fatal(err)
		}
	}
}
