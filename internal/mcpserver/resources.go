package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/ptc-mcp/ptc-mcp/internal/tool"
)

// The tools as a tree of typed Python files, to be read one at a time:
//
//	ptc://servers                          the servers
//	ptc://servers/{server}                 the files of one
//	ptc://servers/{server}/{tool}.py       one tool
//
// Only the listings are in the list of resources, so that it does not grow with
// the number of tools.

const (
	treeURI          = "ptc://servers"
	folderTemplate   = treeURI + "/{server}"
	moduleTemplate   = treeURI + "/{server}/{tool}.py"
	maxListingBytes  = 64 << 10
	maxCompletions   = 100 // of the protocol
	resourcesOnAPage = 100
)

// treeOptions are what the handshake says of the tree.
func (s *Server) treeOptions() []server.ServerOption {
	return []server.ServerOption{
		server.WithResourceCapabilities(true, true),
		server.WithCompletions(),
		server.WithResourceCompletionProvider(treeCompletion{s.catalog}),
		server.WithPaginationLimit(resourcesOnAPage),
	}
}

// addTree adds the templates, and the listings of the servers that there are.
func (s *Server) addTree() {
	s.mcp.AddResourceTemplates(
		server.ServerResourceTemplate{
			Template: mcp.NewResourceTemplate(folderTemplate, "server's tools",
				mcp.WithTemplateDescription("The wrapper files of one server's tools, one a line."), mcp.WithTemplateMIMEType("text/plain")),
			Handler: s.readTree,
		},
		server.ServerResourceTemplate{
			Template: mcp.NewResourceTemplate(moduleTemplate, "tool as typed Python",
				mcp.WithTemplateDescription("One tool's signature, documentation and types, as a program that execute_program runs calls it."), mcp.WithTemplateMIMEType("text/x-python")),
			Handler: s.readTree,
		},
	)
	s.listFolders()
}

// folders are the servers that the list of resources holds.
type folders struct {
	mu     sync.Mutex
	listed bool
	names  []string
}

// listFolders has the list of resources hold the servers of now, and reports
// whether that changed it.
func (s *Server) listFolders() (changed bool) {
	s.folders.mu.Lock()
	defer s.folders.mu.Unlock()
	names := s.catalog.Folders()
	if s.folders.listed && slices.Equal(names, s.folders.names) {
		return false
	}
	changed = s.folders.listed
	s.folders.listed, s.folders.names = true, names
	resources := []server.ServerResource{{
		Resource: mcp.NewResource(treeURI, "all servers", mcp.WithResourceDescription("The servers whose tools a program may call."), mcp.WithMIMEType("text/plain")),
		Handler:  s.readTree,
	}}
	for _, folder := range names {
		resources = append(resources, server.ServerResource{
			Resource: mcp.NewResource(treeURI+"/"+folder, folder, mcp.WithResourceDescription("The tools of the server "+folder+"."), mcp.WithMIMEType("text/plain")),
			Handler:  s.readTree,
		})
	}
	s.mcp.SetResources(resources...)
	return changed
}

// readTree answers resources/read for every URI of the tree.
func (s *Server) readTree(ctx context.Context, request mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	uri := request.Params.URI
	if path, ok := strings.CutPrefix(uri, treeURI+"/"); ok {
		folder, _, _ := strings.Cut(path, "/")
		// A server that is connecting is waited for, as for a program that names it.
		s.catalog.Prepare(ctx, "servers."+folder)
	}
	text, mimeType, err := s.treeText(uri)
	if err != nil {
		return nil, err
	}
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: mimeType, Text: text}}, nil
}

// treeText is the text of a resource of the tree. The error says what is wrong
// with the URI, or that its server is not connected.
func (s *Server) treeText(uri string) (text, mimeType string, err error) {
	if uri == treeURI {
		return s.treeListing(), "text/plain", nil
	}
	path, ok := strings.CutPrefix(uri, treeURI+"/")
	folder, file, isFile := strings.Cut(path, "/")
	if !ok || folder == "" {
		return "", "", fmt.Errorf("%s: %w", shorten(uri, 200), server.ErrResourceNotFound)
	}
	modules, err := s.catalog.Folder(folder)
	if err != nil {
		return "", "", notFound(err)
	}
	if !isFile {
		return folderListing(folder, modules), "text/plain", nil
	}
	name, ok := strings.CutSuffix(file, ".py")
	i := slices.IndexFunc(modules, func(m tool.Module) bool { return m.Name == name })
	if !ok || i < 0 {
		return "", "", fmt.Errorf("%s: the server %s has no such tool; %s/%s lists what it has: %w", shorten(uri, 200), folder, treeURI, folder, server.ErrResourceNotFound)
	}
	text, err = s.catalog.Stub(modules[i].Callable)
	return text, "text/x-python", err
}

// watchedText stands for a resource when it is compared with what it was.
func (s *Server) watchedText(uri string) string {
	text, _, err := s.treeText(uri)
	if err != nil {
		return err.Error()
	}
	return text
}

// missingResource gives an answer to resources/read the code for what is not
// there: mcp-go has one for all errors of a handler.
func missingResource(method string, line []byte, message mcp.JSONRPCMessage) mcp.JSONRPCMessage {
	failed, ok := message.(mcp.JSONRPCError)
	if !ok || method != string(mcp.MethodResourcesRead) || !strings.HasSuffix(failed.Error.Message, server.ErrResourceNotFound.Error()) {
		return message
	}
	var request struct {
		Params json.RawMessage `json:"params"`
	}
	failed.Error.Code = mcp.RESOURCE_NOT_FOUND
	if json.Unmarshal(line, &request) == nil && isModern(request.Params) {
		failed.Error.Code = mcp.INVALID_PARAMS
	}
	return failed
}

// notFound marks an error about a name as one of the resource.
func notFound(err error) error {
	var named *tool.Error
	if errors.As(err, &named) && named.Kind == tool.KindArguments {
		return fmt.Errorf("%w: %w", err, server.ErrResourceNotFound)
	}
	return err
}

// treeListing names the servers, one a line, with what they have.
func (s *Server) treeListing() string {
	var b strings.Builder
	for _, folder := range s.catalog.Folders() {
		modules, err := s.catalog.Folder(folder)
		switch {
		case err != nil:
			fmt.Fprintf(&b, "%s/%s\t%s\n", treeURI, folder, shorten(err.Error(), maxServerReasonBytes))
		case len(modules) == 1:
			fmt.Fprintf(&b, "%s/%s\t1 tool\n", treeURI, folder)
		default:
			fmt.Fprintf(&b, "%s/%s\t%d tools\n", treeURI, folder, len(modules))
		}
		if b.Len() > maxListingBytes {
			b.WriteString("… and more\n")
			break
		}
	}
	return b.String()
}

// folderListing names the files of a server, one a line, with what each is for.
func folderListing(folder string, modules []tool.Module) string {
	var b strings.Builder
	for i, m := range modules {
		line := fmt.Sprintf("%s/%s/%s.py", treeURI, folder, m.Name)
		if m.Summary != "" {
			line += "\t" + m.Summary
		}
		if b.Len()+len(line) > maxListingBytes {
			fmt.Fprintf(&b, "… and %d more; %s finds them\n", len(modules)-i, toolSearch)
			break
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// treeCompletion completes the names in the templates.
type treeCompletion struct{ catalog Catalog }

// CompleteResourceArgument offers servers, and the tools of a server that is
// given.
func (c treeCompletion) CompleteResourceArgument(_ context.Context, uri string, argument mcp.CompleteArgument, given mcp.CompleteContext) (*mcp.Completion, error) {
	var names []string
	switch {
	case uri != folderTemplate && uri != moduleTemplate:
	case argument.Name == "server":
		names = c.catalog.Folders()
	case argument.Name == "tool":
		folders := c.catalog.Folders()
		if folder := given.Arguments["server"]; folder != "" {
			folders = []string{folder}
		}
		for _, folder := range folders {
			modules, _ := c.catalog.Folder(folder) // none, for a server that is not there
			for _, m := range modules {
				names = append(names, m.Name)
			}
		}
		slices.Sort(names)
		names = slices.Compact(names)
	}
	fits := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !strings.HasPrefix(strings.ToLower(name), strings.ToLower(argument.Value))
	})
	total := len(fits)
	fits = fits[:min(total, maxCompletions)]
	return &mcp.Completion{Values: fits, Total: total, HasMore: total > len(fits)}, nil
}
