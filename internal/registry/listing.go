package registry

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ptc-mcp/ptc-mcp/internal/pystub"
	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// maxSummary bounds the sentence beside a tool in a list, in characters.
const maxSummary = 160

// List describes the callable tools in one line each, sorted by name: all of
// them, or those of one server, named in any spelling. The error is a
// *tool.Error for a server that is not configured.
func (r *Registry) List(server string) ([]tool.Listed, error) {
	s := r.current.Load()
	views := s.views
	if server != "" {
		v, err := s.server(server)
		if err != nil {
			return nil, err
		}
		views = []*view{v}
	}
	list := []tool.Listed{}
	for _, v := range views {
		if !v.listed() {
			continue
		}
		for _, e := range v.tools.entries {
			list = append(list, r.listed(e))
		}
	}
	slices.SortFunc(list, func(a, b tool.Listed) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// listed is the tool in one line.
func (r *Registry) listed(e *entry) tool.Listed {
	return tool.Listed{
		Name:      e.name,
		Server:    e.member.Name(),
		Signature: pystub.Signature(r.pyTool(e)),
		Summary:   firstSentence(cmp.Or(e.Description, e.Title), maxSummary),
	}
}

// ServerName is a configured server's name, of any spelling of it. The error is
// a *tool.Error that names the nearest ones.
func (r *Registry) ServerName(spelling string) (string, error) {
	v, err := r.current.Load().server(spelling)
	if err != nil {
		return "", err
	}
	return v.Name(), nil
}

// server finds a configured server by its name or by its part of callable
// names, in any case.
func (s *snapshot) server(name string) (*view, error) {
	for _, same := range []func(v *view) bool{
		func(v *view) bool { return v.Name() == name },
		func(v *view) bool { return v.part == name },
		func(v *view) bool { return strings.EqualFold(fold(v.Name()), fold(name)) },
	} {
		if i := slices.IndexFunc(s.views, same); i >= 0 {
			return s.views[i], nil
		}
	}
	names := make([]string, len(s.views))
	for i, v := range s.views {
		names[i] = v.Name()
	}
	shown := clip(name, maxShownName)
	if best := nearest(name, names); len(best) > 0 {
		return nil, tool.Errorf(shown, tool.KindArguments, "no such server; did you mean %s?", strings.Join(best, " or "))
	}
	if len(names) == 0 {
		return nil, tool.Errorf(shown, tool.KindArguments, "no such server; none is configured")
	}
	return nil, tool.Errorf(shown, tool.KindArguments, "no such server; configured are %s", clip(strings.Join(names, ", "), maxSignature))
}
