package credentials

import (
	"maps"
	"net/http"
	"testing"
)

func TestBearerChallengesAreRead(t *testing.T) {
	for name, test := range map[string]struct {
		values []string
		want   map[string]string
	}{
		"none":            {nil, nil},
		"another scheme":  {[]string{`Basic realm="x"`}, nil},
		"bare":            {[]string{"Bearer"}, map[string]string{}},
		"parameters":      {[]string{`Bearer resource_metadata="https://a/b?c=d, e", scope="x y", error=invalid_token`}, map[string]string{"resource_metadata": "https://a/b?c=d, e", "scope": "x y", "error": "invalid_token"}},
		"in lower case":   {[]string{`bearer SCOPE = "x"`}, map[string]string{"scope": "x"}},
		"after others":    {[]string{`Basic realm="a, b", Negotiate abc==, Bearer scope="x"`}, map[string]string{"scope": "x"}},
		"before others":   {[]string{`Bearer scope="x", Basic realm="y"`}, map[string]string{"scope": "x"}},
		"second field":    {[]string{`Basic realm="y"`, `Bearer scope="x"`}, map[string]string{"scope": "x"}},
		"escapes":         {[]string{`Bearer error_description="say \"no\""`}, map[string]string{"error_description": `say "no"`}},
		"unquoted":        {[]string{`Bearer resource_metadata=https://a/b, scope=x`}, map[string]string{"resource_metadata": "https://a/b", "scope": "x"}},
		"an open quote":   {[]string{`Bearer scope="x`}, map[string]string{"scope": "x"}},
		"the first wins":  {[]string{`Bearer scope="x", scope="y"`}, map[string]string{"scope": "x"}},
		"mere rubbish":    {[]string{`"","=;;{}`, `,,,`}, nil},
		"stray separator": {[]string{`, Bearer , scope="x" ,`}, map[string]string{"scope": "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := bearerChallenge(http.Header{"Www-Authenticate": test.values})
			if (got == nil) != (test.want == nil) || !maps.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func FuzzBearerChallenge(f *testing.F) {
	f.Add(`Basic realm="a, b", Negotiate abc==, Bearer scope="x y", error=invalid_token`)
	f.Add(`Bearer a="\`)
	f.Fuzz(func(t *testing.T, value string) {
		for name := range bearerChallenge(http.Header{"Www-Authenticate": {value}}) {
			if name == "" {
				t.Error("a parameter without a name")
			}
		}
	})
}
