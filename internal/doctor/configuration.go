package doctor

import "fmt"

func configuration(s Subject) Finding {
	f := Finding{Area: AreaConfiguration, Check: "file", Status: OK}
	switch {
	case s.ConfigError != nil:
		f.Status = Fail
		f.Detail = s.ConfigError.Error()
		f.Remedy = "mend the file as the message says; docs/configuration.md lists every key"
	case s.ConfigPath == "":
		f.Status = Warn
		f.Detail = "none found; the defaults hold, and programs have no tools to call"
		f.Remedy = "write a config.yaml that names your MCP servers, here or in your configuration folder, or pass --config"
	case len(s.Config.Servers) == 0:
		f.Status = Warn
		f.Detail = s.ConfigPath + ": no servers, so programs have no tools to call"
		f.Remedy = "add entries to servers"
	default:
		f.Detail = fmt.Sprintf("%s, servers: %d", s.ConfigPath, len(s.Config.Servers))
	}
	return f
}
