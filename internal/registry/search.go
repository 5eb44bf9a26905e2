package registry

import (
	"github.com/ptc-mcp/ptc-mcp/internal/search"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// Search finds the tools that best fit a query in ordinary words, at most limit
// of them, 0 for the default and 50 at most: among all, or among those of one
// server, named in any spelling. Of the query the first 32 words count. The
// error is a *tool.Error for a server that is not configured.
func (r *Registry) Search(query string, limit int, server string) (tool.SearchResult, error) {
	s := r.current.Load()
	views := s.views
	if server != "" {
		v, err := s.server(server)
		if err != nil {
			return tool.SearchResult{}, err
		}
		views = []*view{v}
	}
	var sets []*toolset
	var parts []*search.Part
	result := tool.SearchResult{Tools: []tool.Listed{}}
	for _, v := range views {
		if v.listed() && len(v.tools.entries) > 0 {
			sets = append(sets, v.tools)
			parts = append(parts, v.tools.index())
			result.Searched += len(v.tools.entries)
		}
	}
	if limit <= 0 {
		limit = tool.DefaultFound
	}
	hits, total := search.Search(parts, query, min(limit, tool.MaxFound))
	result.Total = total
	for _, h := range hits {
		result.Tools = append(result.Tools, r.listed(sets[h.Part].entries[h.Document]))
	}
	return result, nil
}

// newPart makes the search index of a server's tools, in their order.
func newPart(entries []*entry) *search.Part {
	documents := make([]search.Document, len(entries))
	for i, e := range entries {
		d := search.Document{Callable: e.name, Server: e.member.Name(), Name: e.Name, Title: e.Title, Description: e.Description}
		eachProperty(e.InputSchema, func(name string, schema []byte) {
			d.Parameters = append(d.Parameters, search.Parameter{Name: name, Description: stringMember(schema, "description")})
		})
		documents[i] = d
	}
	return search.NewPart(documents)
}

// eachProperty visits the properties at the root of a schema, in its order.
func eachProperty(schema []byte, visit func(name string, schema []byte)) {
	_, _ = eachMember(schema, skipSpace(schema, 0), func(key []byte, at int) (int, error) {
		if string(key) != "properties" {
			return skipValue(schema, at)
		}
		return eachMember(schema, at, func(name []byte, at int) (int, error) {
			end, err := skipValue(schema, at)
			if err == nil {
				visit(string(name), schema[at:end])
			}
			return end, err
		})
	})
}
