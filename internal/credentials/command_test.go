//go:build unix

package credentials

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// shell is a command that a shell reads, as none is read otherwise.
func shell(t *testing.T, script string, cache time.Duration) *Command {
	t.Helper()
	return NewCommand(CommandConfig{
		Server: "guarded", Args: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Cache: cache,
	})
}

func TestACommandPrintsHeaders(t *testing.T) {
	for name, script := range map[string]string{
		"JSON":  `echo '{"Authorization": "Bearer t0ken", "x-team": "a b"}'`,
		"lines": `printf 'Authorization: Bearer t0ken\r\n\nX-Team:a b\n'; echo noise >&2`,
	} {
		h, err := shell(t, script, time.Hour).Header(t.Context())
		if err != nil || h.Get("Authorization") != "Bearer t0ken" || h.Get("X-Team") != "a b" || len(h) != 2 {
			t.Errorf("%s: %v, %v", name, h, err)
		}
	}
}

func TestACommandThatPrintsNoHeadersIsAnError(t *testing.T) {
	for script, says := range map[string]string{
		`true`:                                         "printed no headers",
		`echo '{}'`:                                    "printed no headers",
		`echo '{"a": ["t0ken"]}'`:                      "not one of strings",
		`echo '{"a b": "t0ken"}'`:                      "cannot be a header's",
		`echo '["t0ken"]'`:                             "a line 1 that is not a header",
		`printf 'A: b\nt0ken\n'`:                       "a line 2 that is not a header",
		`printf 'A: t0ken\001\n'`:                      "a line 1 that is not a header",
		`yes t0ken | head -c 70000`:                    "printed more than 65536 bytes",
		`echo t0ken; echo locked out >&2; exit 3`:      "exit status 3: locked out",
		`head -c 100000 /dev/zero >&2; exit 1`:         "exit status 1",
		`env | grep -c . >&2; exit 1`:                  "exit status 1: ",
		`echo "PTC=$PTC_CREDENTIALS_TEST" >&2; exit 1`: "exit status 1: PTC=",
		`kill -9 $$`:                                   "signal: killed",
	} {
		t.Setenv("PTC_CREDENTIALS_TEST", "t0ken")
		_, err := shell(t, script, time.Hour).Header(t.Context())
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), `headers_command of server "guarded", /bin/sh: `) {
			t.Errorf("%s: got %v", script, err)
		}
		if err != nil && (strings.Contains(err.Error(), "t0ken") || len(err.Error()) > 1000) {
			t.Errorf("%s: the error says too much: %v", script, err)
		}
	}
	_, err := NewCommand(CommandConfig{Server: "guarded", Args: []string{"no-such-program"}}).Header(t.Context())
	if err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("got %v", err)
	}
}

func TestACommandIsRunWhenItMustBe(t *testing.T) {
	runs := filepath.Join(t.TempDir(), "runs")
	script := `echo run >> ` + runs + `; echo "Authorization: Bearer $(wc -l < ` + runs + `)"`
	count := func() int {
		data, _ := os.ReadFile(runs)
		return strings.Count(string(data), "run")
	}
	c := shell(t, script, time.Hour)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := c.Header(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if count() != 1 {
		t.Errorf("20 requests ran it %d times", count())
	}
	sent, _ := c.Header(t.Context())
	if again, err := c.Refused(t.Context(), sent, http.StatusForbidden, nil); again || err != nil || count() != 1 {
		t.Errorf("after a 403: %t, %v, %d runs", again, err, count())
	}
	for range 2 { // the second was sent before the first was refused
		if again, err := c.Refused(t.Context(), sent, http.StatusUnauthorized, nil); !again || err != nil || count() != 2 {
			t.Errorf("after a 401: %t, %v, %d runs", again, err, count())
		}
	}

	short := shell(t, script, time.Nanosecond)
	for range 2 {
		if _, err := short.Header(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if count() != 4 {
		t.Errorf("with its time over it was not run again: %d runs", count())
	}
}

func TestACommandThatPrintsTheSameAgainIsNoHelp(t *testing.T) {
	c := shell(t, `echo 'X-Key: t0ken'`, time.Hour)
	sent, err := c.Header(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Refused(t.Context(), sent, http.StatusUnauthorized, nil)
	if again || err == nil || !strings.Contains(err.Error(), "refuses the headers") || strings.Contains(err.Error(), "t0ken") {
		t.Errorf("got %t, %v", again, err)
	}
}

func TestACommandThatHangsIsEndedWithAllThatItStarted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	pipe := filepath.Join(t.TempDir(), "started")
	c := shell(t, `sleep 600 & echo up > `+pipe+`; wait`, time.Hour)
	ended := make(chan error, 1)
	go func() {
		_, err := c.Header(ctx)
		ended <- err
	}()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for _, err := os.Stat(pipe); err != nil; _, err = os.Stat(pipe) {
		<-tick.C
	}
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it is still waited for")
	}
}
