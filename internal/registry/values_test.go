package registry

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func text(s string) string {
	return `{"type":"text","text":` + string(appendQuoted(nil, s)) + `}`
}

func TestTheValueOfAResult(t *testing.T) {
	for _, tt := range []struct{ name, raw, want string }{
		{"structured content as it is", `{"structuredContent":{"a": 1.0,"b":[12345678901234567890]}}`, `{"a": 1.0,"b":[12345678901234567890]}`},
		{"the bare wrapper is unwrapped", `{"structuredContent":{"result":[1,2]}}`, `[1,2]`},
		{"with whitespace too", `{"structuredContent": { "result" : "x" } }`, `"x"`},
		{"not beside another key", `{"structuredContent":{"result":1,"more":2}}`, `{"result":1,"more":2}`},
		{"not in second place", `{"structuredContent":{"more":2,"result":1}}`, `{"more":2,"result":1}`},
		{"null structured content is none", `{"structuredContent":null,"content":[` + text("a") + `]}`, `"a"`},
		{"structured content that is no object", `{"structuredContent":[1,2],"content":[]}`, `[1,2]`},
		{"an empty object", `{"structuredContent":{},"content":[` + text("hi") + `]}`, `{"_notes":["hi"]}`},

		{"the text of the whole is no note", `{"structuredContent":{"a":1,"b":"é"},"content":[` + text(`{"a":1,"b":"é"}`) + `]}`, `{"a":1,"b":"é"}`},
		{"indented", `{"structuredContent":{"a":[1,2]},"content":[` + text("{\n  \"a\": [\n    1,\n    2\n  ]\n}\n") + `]}`, `{"a":[1,2]}`},
		{"with other escapes and numbers", `{"structuredContent":{"a":"é/","n":1.0},"content":[` + text(`{"a":"\u00e9\/","n":1}`) + `]}`, `{"a":"é/","n":1.0}`},
		{"in another order", `{"structuredContent":{"a":1,"b":2},"content":[` + text(`{"b":2,"a":1}`) + `]}`, `{"a":1,"b":2}`},
		{"the text of what is inside the wrapper", `{"structuredContent":{"result":{"a":1}},"content":[` + text(`{"a":1}`) + `]}`, `{"a":1}`},
		{"a list sent once more item by item", `{"structuredContent":{"result":["a","b",3,{"x":null}]},"content":[` + strings.Join([]string{text("a"), text("b"), text("3"), text(`{"x": null}`)}, ",") + `]}`, `["a","b",3,{"x":null}]`},
		{"a list of one", `{"structuredContent":{"result":["a"]},"content":[` + text("a") + `]}`, `["a"]`},
		{"a list sent as one text", `{"structuredContent":{"result":["a"]},"content":[` + text(`["a"]`) + `]}`, `["a"]`},
		{"a string", `{"structuredContent":{"result":"two\nlines"},"content":[` + text("two\nlines") + `]}`, `"two\nlines"`},
		{"a number and a truth value of Python", `{"structuredContent":{"result":true},"content":[` + text("True") + `]}`, `true`},
		{"a string that is the object's only one", `{"structuredContent":{"content":"long text"},"content":[` + text("long text") + `]}`, `{"content":"long text"}`},

		{"other text is a note", `{"structuredContent":{"a":1},"content":[` + text("page 1 of 2") + `]}`, `{"a":1,"_notes":["page 1 of 2"]}`},
		{"beside a list", `{"structuredContent":{"result":[1]},"content":[` + text("1") + "," + text("more to come") + `]}`, `{"data":[1],"_notes":["1","more to come"]}`},
		{"a text that differs in one value", `{"structuredContent":{"a":1},"content":[` + text(`{"a":2}`) + `]}`, `{"a":1,"_notes":["{\"a\":2}"]}`},
		{"empty text is no note", `{"structuredContent":{"a":1},"content":[` + text("") + `]}`, `{"a":1}`},
		{"notes of a value that has notes", `{"structuredContent":{"_notes":1},"content":[` + text("hi") + `]}`, `{"data":{"_notes":1},"_notes":["hi"]}`},

		{"text", `{"content":[` + text("hello") + `]}`, `"hello"`},
		{"text as it was escaped", `{"content":[{"type":"text","text":"\u00e9\ud800\/"}]}`, `"\u00e9\ud800\/"`},
		{"text that is JSON", `{"content":[` + text(` {"a": "x\ny"} `) + `]}`, `{"a": "x\ny"}`},
		{"text that is a number", `{"content":[` + text("42\n") + `]}`, `42`},
		{"text that is null", `{"content":[` + text("null") + `]}`, `null`},
		{"text that is a quoted string", `{"content":[` + text(`"q"`) + `]}`, `"q"`},
		{"text that looks like JSON", `{"content":[` + text(`{a: 1}`) + `]}`, `"{a: 1}"`},
		{"NaN is no JSON", `{"content":[` + text("NaN") + `]}`, `"NaN"`},
		{"JSON too deep for the sandbox stays text", `{"content":[` + text(strings.Repeat("[", 300)+strings.Repeat("]", 300)) + `]}`,
			`"` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `"`},
		{"several texts are joined", `{"content":[` + text("a") + "," + text("b") + `]}`, `"a\nb"`},
		{"several texts that are JSON as a whole", `{"content":[` + text("[1,") + "," + text("2]") + `]}`, "[1,\n2]"},
		{"several JSON texts are not", `{"content":[` + text("1") + "," + text("2") + `]}`, `"1\n2"`},
		{"nothing", `{"content":[]}`, `null`},
		{"no content at all", `{}`, `null`},
		{"null content", `{"content":null}`, `null`},

		{"an image", `{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}`,
			`{"data":null,"_notes":["[non-text content omitted: image (image/png)]"]}`},
		{"an image beside text", `{"content":[` + text("a cat") + `,{"type":"image","data":"AAAA","mimeType":"image/png"}]}`,
			`{"data":"a cat","_notes":["[non-text content omitted: image (image/png)]"]}`},
		{"an image beside a JSON object", `{"content":[` + text(`{"a":1}`) + `,{"type":"audio","data":"AAAA","mimeType":"audio/wav"}]}`,
			`{"a":1,"_notes":["[non-text content omitted: audio (audio/wav)]"]}`},
		{"an image beside structured content", `{"structuredContent":{"a":1},"content":[{"type":"image","data":"","mimeType":"image/png"}]}`,
			`{"a":1,"_notes":["[non-text content omitted: image (image/png)]"]}`},
		{"a link", `{"content":[{"type":"resource_link","uri":"file:///a","name":"a"}]}`,
			`{"data":null,"_notes":["[non-text content omitted: resource_link (file:///a)]"]}`},
		{"an embedded text", `{"content":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"inside"}}]}`, `"inside"`},
		{"an embedded blob", `{"content":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"application/pdf","blob":"AA"}}]}`,
			`{"data":null,"_notes":["[non-text content omitted: resource (file:///a, application/pdf)]"]}`},
		{"an unknown type", `{"content":[{"type":"hologram","x":1},17,{"type":{}}]}`,
			`{"data":null,"_notes":["[non-text content omitted: hologram]","[non-text content omitted: unknown]","[non-text content omitted: unknown]"]}`},
		{"content that is no list", `{"content":"plain"}`, `"plain"`},
		{"a text block without text", `{"content":[{"type":"text"}]}`, `{"data":null,"_notes":["[non-text content omitted: text]"]}`},
		{"keys with escapes", `{"\u0063ontent":[{"typ\u0065":"text","text":"x"}]}`, `"x"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, err := parseResult([]byte(tt.raw))
			if err != nil {
				t.Fatal(err)
			}
			got, err := res.value(true, 0)
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
}

func TestALargeTextThatLooksLikeTheStructuredContentIsNotComparedAgain(t *testing.T) {
	big := strings.Repeat(`{"k":"some value"},`, 10000) + `{}`
	raw := `{"structuredContent":{"items":[` + big + `]},"content":[` + text(`{ "items": [`+big+`] }`) + `]}`
	res, err := parseResult([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	got, err := res.value(true, 0)
	if err != nil || string(got) != `{"items":[`+big+`]}` {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	if &got[0] != &res.structured[0] {
		t.Error("the value was copied")
	}
	// Prose of the same size is still a note.
	res, err = parseResult([]byte(`{"structuredContent":{"items":[` + big + `]},"content":[` + text("Note: "+big) + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, err = res.value(true, 0); err != nil || !strings.Contains(string(got), `"_notes":["Note: `) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

func TestAResultThatIsNoneIsRefused(t *testing.T) {
	for _, raw := range []string{``, `null`, `[]`, `"x"`, `{`, `{"content":[`, `{"content" []}`, `{"structuredContent":{"a"}}`} {
		if _, err := parseResult([]byte(raw)); err == nil {
			t.Errorf("%q was accepted", raw)
		}
	}
	deep := `{"structuredContent":{"a":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}}`
	if _, err := parseResult([]byte(deep)); !errors.Is(err, errTooDeep) {
		t.Errorf("got %v", err)
	}
}

func TestTheSizeLimitIsOnTheValue(t *testing.T) {
	pad := strings.Repeat("x", 98)
	for _, tt := range []struct {
		name, raw string
		ok        bool
	}{
		{"exactly the limit", `{"structuredContent":{"result":"` + pad + `"}}`, true},
		{"one more", `{"structuredContent":{"result":"` + pad + `x"}}`, false},
		{"text", `{"content":[` + text(pad) + `]}`, true},
		{"text, one more", `{"content":[` + text(pad+"x") + `]}`, false},
		{"what is not part of the value does not count", `{"_meta":{"a":"` + pad + `"},"content":[` + text(pad) + `]}`, true},
		{"JSON text that is shorter without its escapes", `{"content":[` + text(fmt.Sprintf("[%s1]", strings.Repeat(`"","",`, 16))) + `]}`, true},
		{"several texts", `{"content":[` + text(pad[:50]) + "," + text(pad[:50]) + `]}`, false},
		{"notes count", `{"structuredContent":{"a":1},"content":[` + text(pad) + `]}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, err := parseResult([]byte(tt.raw))
			if err != nil {
				t.Fatal(err)
			}
			value, err := res.value(true, 100)
			var size *sizeError
			if (err == nil) != tt.ok || err != nil && (!errors.As(err, &size) || size.size <= 100) {
				t.Errorf("got %d bytes, %v", len(value), err)
			}
		})
	}
}

func benchmarkValue(b *testing.B, raw string) {
	message := []byte(raw)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		res, err := parseResult(message)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := res.value(true, 0); err != nil {
			b.Fatal(err)
		}
	}
}

// tenMegabytes is JSON as servers send it: an array of records.
func tenMegabytes() string {
	record := `{"id":12345,"name":"Some customer","tags":["a","b"],"note":"A sentence of ordinary length, as they are.","active":true},`
	return "[" + strings.Repeat(record, 10<<20/len(record)) + `{}]`
}

func BenchmarkValueOfTenMegabytesStructured(b *testing.B) {
	benchmarkValue(b, `{"structuredContent":{"result":`+tenMegabytes()+`},"content":[]}`)
}

func BenchmarkValueOfTenMegabytesTwice(b *testing.B) {
	benchmarkValue(b, `{"structuredContent":{"result":`+tenMegabytes()+`},"content":[`+text(tenMegabytes())+`]}`)
}

func BenchmarkValueOfTenMegabytesOfTextThatIsJSON(b *testing.B) {
	benchmarkValue(b, `{"content":[`+text(tenMegabytes())+`]}`)
}

func BenchmarkValueOfTenMegabytesOfProse(b *testing.B) {
	benchmarkValue(b, `{"content":[`+text(strings.Repeat("A sentence of ordinary length, as they are.\n", 10<<20/44))+`]}`)
}
