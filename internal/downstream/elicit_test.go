package downstream

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
)

// askable is the configuration of a fake server that may ask, and whose
// questions get the answer; stopped counts the clocks that stand still.
func askable(t *testing.T, era string, stopped *atomic.Int64, answer func(ctx context.Context) (json.RawMessage, error)) Config {
	config := fakeConfig(t, era)
	config.Elicitation = func() (form, url bool) { return true, false }
	config.Thinking = func(context.Context) func() {
		stopped.Add(1)
		return func() { stopped.Add(-1) }
	}
	config.Elicit = func(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
		if !strings.Contains(string(params), `"message":"?"`) {
			t.Errorf("asked %s", params)
		}
		if stopped.Load() == 0 {
			t.Error("the clock runs while the user thinks")
		}
		return answer(ctx)
	}
	return config
}

func TestAQuestionIsAnsweredInBothEras(t *testing.T) {
	for era, tool := range map[string]string{"legacy": "elicit", "modern": "needinput"} {
		for _, tt := range []struct {
			answer string
			err    error
			want   string
		}{
			{`{"action":"accept","content":{"a":1}}`, nil, `"content":{"a":1}`},
			{`{"action":"cancel"}`, nil, `"action":"cancel"`},
			{"", errors.New("nobody is there"), `"action":"decline"`},
		} {
			var stopped atomic.Int64
			s := connected(t, askable(t, era, &stopped, func(context.Context) (json.RawMessage, error) {
				return json.RawMessage(tt.answer), tt.err
			}))
			if got := callText(t, s, tool, "{}"); !strings.Contains(got, tt.want) {
				t.Errorf("%s, %s: the server got %s", era, tt.answer, got)
			}
			if n := stopped.Load(); n != 0 {
				t.Errorf("%s: %d clocks stand still after the answer", era, n)
			}
		}
	}
}

func TestAQuestionEndsWithItsCall(t *testing.T) {
	for era, tool := range map[string]string{"legacy": "elicit", "modern": "needinput"} {
		var stopped atomic.Int64
		asked, ended := make(chan struct{}), make(chan struct{})
		s := connected(t, askable(t, era, &stopped, func(ctx context.Context) (json.RawMessage, error) {
			close(asked)
			<-ctx.Done()
			close(ended)
			return nil, ctx.Err()
		}))
		ctx, cancel := context.WithCancel(patient(t))
		go func() {
			<-asked
			cancel()
		}()
		if _, err := s.Call(ctx, tool, nil); err == nil {
			t.Errorf("%s: the call went on", era)
		}
		<-ended
	}
}

func TestAQuestionOutsideOfCallsIsRefused(t *testing.T) {
	c := &connection{asking: &asking{}}
	if _, err := c.asked(json.RawMessage(`{}`)); !errors.Is(err, errNoCall) {
		t.Errorf("got %v", err)
	}
}

func TestWithoutAnybodyToAskNothingIsDeclared(t *testing.T) {
	config := fakeConfig(t, "legacy")
	config.Elicitation = func() (form, url bool) { return false, false }
	config.Elicit = func(context.Context, json.RawMessage) (json.RawMessage, error) { panic("asked all the same") }
	s := connected(t, config)
	if got := callText(t, s, "elicit", "{}"); !strings.Contains(got, "-32601") {
		t.Errorf("the server got %s", got)
	}
}
