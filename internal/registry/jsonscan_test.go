package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTheScannerFindsWhereValuesEnd(t *testing.T) {
	for _, tt := range []struct{ in, value string }{
		{`1,2`, `1`}, {`-1.5e3]`, `-1.5e3`}, {`true}`, `true`}, {`null`, `null`},
		{`"a\"b","c"`, `"a\"b"`}, {`"\\","x"`, `"\\"`}, {`""x`, `""`}, {`"` + strings.Repeat("é", 300) + `\"` + strings.Repeat("x", 900) + `\\"y"`, `"` + strings.Repeat("é", 300) + `\"` + strings.Repeat("x", 900) + `\\"`}, {`"12345678\"12345678"x`, `"12345678\"12345678"`},
		{`{"a":"}","b":[1,{}]},`, `{"a":"}","b":[1,{}]}`}, {`[[],["]"]]]`, `[[],["]"]]`}, {`{}{}`, `{}`},
	} {
		end, err := skipValue([]byte(tt.in), 0)
		if err != nil || tt.in[:end] != tt.value {
			t.Errorf("%s: got %s, %v", tt.in, tt.in[:end], err)
		}
	}
	for _, bad := range []string{``, `"`, `"\`, `"\"`, `{`, `[1`, `,`, `]`, `{"a":"b`, "\"12345678\\"} {
		if end, err := skipValue([]byte(bad), 0); err == nil || end > len(bad) {
			t.Errorf("%q: got %d, %v", bad, end, err)
		}
	}
	if _, err := skipValue([]byte(strings.Repeat("[", maxDepth)+strings.Repeat("]", maxDepth)), 0); err != nil {
		t.Error(err)
	}
	if _, err := skipValue([]byte(strings.Repeat("[", maxDepth+1)), 0); !errors.Is(err, errTooDeep) {
		t.Error(err)
	}
}

// seeds are documents, near-documents and garbage.
var seeds = []string{
	``, ` `, `{}`, `[]`, `null`, `"x"`, `{"content":[{"type":"text","text":"{\"a\":1}"}]}`,
	`{"structuredContent":{"result":[1,2]},"content":[{"type":"text","text":"1"},{"type":"text","text":"2"}]}`,
	`{"a":[1,2.5e-3,-0,"\u00e9\ud83d\ude00\ud800"],"b":{"c":null}}`, "\"\xff\xfe\"", `{"a":}`, `[1,]`, `[,1]`, `{"a" 1}`, `01`, `-`, `1.`, `1e`, `tru`, `nul`, `"\x"`, `"\u12"`, "\"\x01\"",
	`{"content":"text"}`, `{"content":[null,1,"t",{"type":5},{"type":"image","mimeType":"image/png","data":"AA=="},{"type":"resource","resource":{"text":"t","uri":"u"}}]}`,
	strings.Repeat(`{"a":[`, 150), `{"isError":true,"content":[{"type":"text","text":"\ud83d"}]}`, `{"structuredContent":"\`, `{"content":[{"text":"\"`, `"\\n"`, `"\n \n"`,
}

func FuzzTheScannerStaysInBounds(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if end, err := skipValue(b, 0); err == nil && (end <= 0 || end > len(b)) {
			t.Fatalf("end %d of %d", end, len(b))
		}
		if json.Valid(b) {
			start := skipSpace(b, 0)
			end, err := skipValue(b, start)
			if errors.Is(err, errTooDeep) {
				return
			}
			if err != nil || skipSpace(b, end) != len(b) {
				t.Fatalf("valid JSON of %d bytes ends at %d: %v", len(b), end, err)
			}
			checkSameMembers(t, b[start:end])
		}
		res, err := parseResult(b)
		if err != nil {
			return
		}
		_ = res.errorText()
		for _, unwrap := range []bool{true, false} {
			value, err := res.value(unwrap, 0)
			if err != nil || len(value) == 0 {
				t.Fatalf("no value: %v", err)
			}
			if json.Valid(b) && utf8.Valid(b) && (!json.Valid(value) || !utf8.Valid(value)) {
				t.Fatalf("valid result made an invalid value: %q", value)
			}
		}
	})
}

func checkSameMembers(t *testing.T, b []byte) {
	var want map[string]json.RawMessage
	if b[0] != '{' || json.Unmarshal(b, &want) != nil {
		return
	}
	got := map[string]json.RawMessage{}
	if _, err := eachMember(b, 0, func(key []byte, at int) (int, error) {
		end, err := skipValue(b, at)
		got[strings.ToValidUTF8(string(key), "\uFFFD")] = b[at:end]
		return end, err
	}); err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(b) {
		return // encoding/json replaces each bad byte, this scanner's callers do so before
	}
	if len(got) != len(want) {
		t.Fatalf("%d members, want %d", len(got), len(want))
	}
	for k, v := range want {
		if !bytes.Equal(got[k], v) {
			t.Fatalf("%q: %s, want %s", k, got[k], v)
		}
	}
}

func FuzzTheValidatorAgreesWithEncodingJSON(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, want := validJSON(b), json.Valid(b)
		if got == want {
			return
		}
		if want && (strings.Count(string(b), "[")+strings.Count(string(b), "{") > maxDepth || len(b) > maxNumberDigits) {
			return // stricter on purpose
		}
		t.Fatalf("%q: %v, want %v", b, got, want)
	})
}

func FuzzStringsDecodeAsEncodingJSONDoes(f *testing.F) {
	for _, s := range []string{`""`, `"a"`, `"\n\t\"\\\/\b\f\r"`, `"\u00e9\uD83D\uDE00"`, `"\ud800"`, `"\ud800\u0041"`, `"\udc00\ud800"`, `"\ud800\ud800\udc00"`, `"é😀"`} {
		f.Add([]byte(s), []byte(s))
	}
	f.Add([]byte(`"é😀"`), []byte(`"é🛀"`))
	f.Add([]byte(`"é😀"`), []byte(`"\u00e9\ud83d\ude00"`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var x, y string
		if !utf8.Valid(a) || !utf8.Valid(b) || json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
			return
		}
		a, b = bytes.TrimSpace(a), bytes.TrimSpace(b)
		if !isString(a) || !isString(b) {
			return
		}
		if got := string(unquote(a)); got != x || len(x) != unquotedLen(a) {
			t.Fatalf("%s: got %q, want %q; length %d, want %d", a, got, x, unquotedLen(a), len(x))
		}
		if got := equalStrings(a, b); got != (x == y) {
			t.Fatalf("%s and %s: equal %v", a, b, got)
		}
		var again string
		if err := json.Unmarshal(appendQuoted(nil, x), &again); err != nil || again != x {
			t.Fatalf("quoting %q: %q, %v", x, again, err)
		}
	})
}

func TestNumbersTooLongForPythonAreNotTakenForJSON(t *testing.T) {
	if validJSON([]byte(strings.Repeat("9", maxNumberDigits+1))) || !validJSON([]byte(strings.Repeat("9", maxNumberDigits))) {
		t.Error("the limit is off")
	}
}
