package doctor

import (
	"fmt"
	"strings"

	"github.com/ptc-mcp/ptc-mcp/internal/config/clients"
)

// imported are the findings about the files of other clients, and about those
// of their entries that are not used.
func imported(s Subject) []Finding {
	if s.Imports == nil {
		return nil
	}
	var findings []Finding
	for _, source := range s.Imports.Sources {
		f := Finding{Area: AreaConfiguration, Check: "import " + source.Client.Name, Status: OK}
		var used []string
		var left []Finding
		for _, e := range s.Imports.Entries {
			switch {
			case e.File.Path != source.Path:
			case e.Usable():
				used = append(used, e.Server.Name)
			default:
				left = append(left, unused(e))
			}
		}
		switch {
		case source.Problem != nil:
			f.Status, f.Detail = Warn, source.Problem.Error()
			f.Remedy = "mend the file; until then its servers are not there, or are those it had before"
		case !source.Exists:
			f.Detail = source.Path + " is not there"
		case len(used) == 0:
			f.Detail = source.Path + ", no servers taken over"
		default:
			f.Detail = fmt.Sprintf("%s, servers: %s", source.Path, strings.Join(used, ", "))
		}
		if source.Elsewhere > 0 {
			f.Detail += fmt.Sprintf("; servers for other folders: %d", source.Elsewhere)
		}
		findings = append(append(findings, f), left...)
	}
	return findings
}

func unused(e clients.Entry) Finding {
	f := Finding{Area: AreaConfiguration, Check: e.Name, Status: OK, Detail: fmt.Sprintf("not used: %s (%s)", e.Problem, e.Where())}
	if !e.Expected {
		f.Status = Warn
		f.Remedy = "mend the entry, switch it off, or write the server into servers of the configuration file"
	}
	return f
}
