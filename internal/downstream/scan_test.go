package downstream

import (
	"encoding/json"
	"strings"
	"testing"
)

var jsonTexts = []string{
	`{}`, `[]`, ` { "a" : [ 1 , -0.5e+10 , true , false , null , "x" ] } `, `{"a":{"a":{}}}`,
	`{"\u0061\"":"\\\/\b\f\n\r\té\ud800"}`, `{"long":"` + strings.Repeat("plain ", 50) + `\"end"}`,
	`{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `[1,]`, `[,]`, `{"a":01}`, `{"a":1.}`, `{"a":-}`, `{"a":1e}`, `{"a":+1}`,
	`{"a":.5}`, `{"a":tru}`, `{"a":nul`, `{"a":"` + "\n" + `"}`, `{"a":"\x"}`, `{"a":"\u12g4"}`, `{"a":"\u12`, `{"a":"`,
	`{"a":1}x`, `{} {}`, `{a:1}`, `{"a":1 "b":2}`, `{"abcdefgh` + "\x1f" + `ijklmnop":1}`, `{"a":"\`, ``, ` `, `"a"`, `1`,
	`[` + strings.Repeat(`[`, 5000) + strings.Repeat(`]`, 5000) + `]`,
	`[` + strings.Repeat(`[`, 20000) + strings.Repeat(`]`, 20000) + `]`,
}

// checkScan compares the scanner with encoding/json.
func checkScan(t *testing.T, text string) {
	t.Helper()
	var object map[string]json.RawMessage
	wantObject := json.Unmarshal([]byte(text), &object) == nil && object != nil
	got := make(map[string]json.RawMessage)
	err := scanObject([]byte(text), func(key string, value json.RawMessage) { got[key] = value })
	if (err == nil) != wantObject {
		t.Fatalf("scanObject(%.100q): %v, encoding/json says %v", text, err, wantObject)
	}
	if wantObject {
		if len(got) != len(object) {
			t.Fatalf("scanObject(%.100q) found %d members, want %d", text, len(got), len(object))
		}
		for key, value := range object {
			if string(got[key]) != string(value) {
				t.Fatalf("scanObject(%.100q)[%q] is %s, want %s", text, key, got[key], value)
			}
		}
	}
	var array []json.RawMessage
	wantArray := json.Unmarshal([]byte(text), &array) == nil && array != nil
	n := 0
	if err := scanArray([]byte(text), func(json.RawMessage) { n++ }); (err == nil) != wantArray || wantArray && n != len(array) {
		t.Fatalf("scanArray(%.100q): %v with %d elements, encoding/json says %v with %d", text, err, n, wantArray, len(array))
	}
}

func TestTheScannerAgreesWithEncodingJSON(t *testing.T) {
	for _, text := range jsonTexts {
		checkScan(t, text)
	}
}

func FuzzScan(f *testing.F) {
	for _, text := range jsonTexts {
		f.Add(text)
	}
	f.Fuzz(checkScan)
}

// checkID feeds a message in pieces and compares the id with encoding/json's.
func checkID(t *testing.T, text string, piece int) {
	t.Helper()
	m := &message{limit: -1} // everything is too large
	for rest := text; rest != ""; {
		n := min(max(piece, 1), len(rest))
		_, _ = m.Write([]byte(rest[:n]))
		rest = rest[n:]
	}
	var keys map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &keys) != nil || keys == nil || strings.Contains(text, `\u00`) {
		return // any answer will do, as long as it does not panic
	}
	want := strings.TrimSpace(string(keys["id"]))
	if want == "" || len(want) > maxToken/2 || want[0] == '{' || want[0] == '[' || strings.Count(text, `"id"`) > 1 {
		return
	}
	if m.id == nil || m.id.id != want {
		t.Errorf("id of %.200q in pieces of %d is %+v, want %s", text, piece, m.id, want)
	}
	if _, has := keys["method"]; has != m.id.hasMethod && !strings.Contains(text, `\`) {
		t.Errorf("method of %.200q: %v, want %v", text, m.id.hasMethod, has)
	}
}

var rpcTexts = []string{
	`{"jsonrpc":"2.0","id":7,"result":{}}`,
	`{"result":{"text":"\"},{\"ID\":8","a":[{"b":"]}"}]} , "id" : 7 }`,
	`{"result":"x","id":"seven"}`, `{"method":"m","params":{},"id":"q\"1"}`, `{"method":"m"}`,
	`{"result":{"x":"\\"},"id":12}`, `[{"id":7}]`, `{"id":null}`, `}}}}`, `"`, `{"id`,
}

func TestTheIDOfAnOversizeMessageIsFoundWhereverItStands(t *testing.T) {
	for _, text := range rpcTexts {
		for piece := 1; piece <= len(text); piece++ {
			checkID(t, text, piece)
		}
	}
}

func FuzzID(f *testing.F) {
	for _, text := range rpcTexts {
		f.Add(text, 3)
	}
	f.Fuzz(checkID)
}

func TestMessagesWithinTheLimitAreJoined(t *testing.T) {
	text := strings.Repeat("0123456789", 1000)
	for _, piece := range []int{1, 7, 4096, len(text)} {
		for _, reserved := range []int64{0, int64(len(text))} {
			m := &message{limit: int64(len(text))}
			m.reserve(reserved)
			for rest := text; rest != ""; {
				n := min(piece, len(rest))
				_, _ = m.Write([]byte(rest[:n]))
				rest = rest[n:]
			}
			if m.tooLarge() || string(m.bytes()) != text || string(m.bytes()) != text {
				t.Errorf("in pieces of %d: too large %v, %d bytes", piece, m.tooLarge(), len(m.bytes()))
			}
			if _, _ = m.Write([]byte("x")); !m.tooLarge() {
				t.Error("one byte more is not too large")
			}
		}
	}
}
