// Package config owns the configuration file: its keys, their defaults, where
// the file is looked for, and everything that can be wrong with it.
//
// It starts no server and no sandbox, knows nothing of what the values are used
// for beyond their bounds, and imports nothing internal.
package config

// Config is one complete configuration, defaults filled in and variables
// expanded. It may hold secrets: do not log it as a whole.
type Config struct {
	// Path is the file it was loaded from, as given to Load; empty when there
	// was none.
	Path string `yaml:"-" json:"-"`

	Servers []Server `yaml:"servers"`
	// Import names other clients, and files of theirs, whose servers are used
	// as well; see package clients.
	Import    []string  `yaml:"import"`
	Tools     Tools     `yaml:"tools"`
	Execution Execution `yaml:"execution"`
	Docker    Docker    `yaml:"docker"`
	Python    Python    `yaml:"python"`
	Native    Native    `yaml:"native"`
}

// Transport is how a server is reached.
type Transport string

// The transports of MCP.
const (
	Stdio Transport = "stdio" // a child process, messages on its standard streams
	HTTP  Transport = "http"  // streamable HTTP
	SSE   Transport = "sse"   // the older HTTP with server-sent events
)

// Server is one MCP server whose tools programs may call.
type Server struct {
	// Name is unique, and the middle part of mcp__<name>__<tool>.
	Name string `yaml:"name"`
	// Transport follows from Command or URL when the file does not say.
	Transport Transport `yaml:"transport" enum:"stdio,http,sse"`

	// Command is the program of a stdio server: a path, or a name on PATH.
	Command string `yaml:"command"`
	// Args are its arguments.
	Args []string `yaml:"args"`
	// Env is added to the minimal environment of a stdio server.
	Env map[string]string `yaml:"env"`
	// Cwd is the folder a stdio server is started in; empty means the one
	// ptc-mcp was started in.
	Cwd string `yaml:"cwd"`

	// URL is the endpoint of an http or sse server.
	URL string `yaml:"url"`
	// Headers are sent with every request to it.
	Headers map[string]string `yaml:"headers"`
	// HeadersCommand is a program and its arguments that prints more of them.
	HeadersCommand []string `yaml:"headers_command"`
	// HeadersCacheSeconds is how long what it printed is used; 0 without one.
	HeadersCacheSeconds float64 `yaml:"headers_cache_seconds"`
	// Auth is how to sign in to it with OAuth, beyond what it says itself.
	Auth Auth `yaml:"auth"`
	// CAFile has the certificates, in PEM, that may vouch for it besides the
	// system's.
	CAFile string `yaml:"ca_file"`

	// MaxConcurrentCalls bounds the calls of all runs under way at once; more
	// wait. 0 for no bound.
	MaxConcurrentCalls int `yaml:"max_concurrent_calls"`

	// AllowTools, if there are any, are the only tools of the server that are
	// used; BlockTools are not. Both are the server's own names.
	AllowTools []string `yaml:"allow_tools"`
	BlockTools []string `yaml:"block_tools"`

	// Elicitation lets the server ask the user, by way of the client.
	Elicitation bool `yaml:"elicitation"`

	// ConnectTimeoutSeconds bounds starting the server and its handshake.
	ConnectTimeoutSeconds float64 `yaml:"connect_timeout_seconds"`
	// ListTimeoutSeconds bounds listing its tools, all pages together.
	ListTimeoutSeconds float64 `yaml:"list_timeout_seconds"`
}

// Auth is an OAuth client that was registered by hand, and what to ask for.
// All of it may be left out where the server says enough.
type Auth struct {
	// ClientID is the client's; empty to register one when it is needed.
	ClientID string `yaml:"client_id"`
	// ClientSecret is the client's; empty for a public client.
	ClientSecret string `yaml:"client_secret"`
	// Issuer is the authorization server; empty for the one the server names.
	Issuer string `yaml:"issuer"`
	// Scopes are asked for; empty for those the server names.
	Scopes []string `yaml:"scopes"`
	// RedirectPort is the port on 127.0.0.1 that the browser comes back to; 0
	// for any that is free.
	RedirectPort int `yaml:"redirect_port"`
}

// Tools decides which tools programs may call. At most one of Allow and Block
// is set; with neither, every tool may be called.
type Tools struct {
	// Allow are globs over callable names; tools that match none are left out.
	Allow []string `yaml:"allow"`
	// Block are globs over callable names; tools that match one are left out.
	Block []string `yaml:"block"`
	// Direct are globs over callable names; the callable tools that match one
	// are offered to the client itself as well.
	Direct []string `yaml:"direct"`
}

// Execution bounds each run of a program.
type Execution struct {
	// TimeoutSeconds bounds a run's wall-clock time.
	TimeoutSeconds float64 `yaml:"timeout_seconds"`
	// MaxOutputBytes bounds everything of a run that goes to the model.
	MaxOutputBytes int `yaml:"max_output_bytes"`
	// Sandbox is the backend that isolates a run.
	Sandbox string `yaml:"sandbox" enum:"auto,docker,native,seatbelt,none"`
	// MaxToolCalls bounds the calls of servers' tools in one run.
	MaxToolCalls int `yaml:"max_tool_calls"`
	// MaxConcurrentCalls bounds the calls under way at once; more wait.
	MaxConcurrentCalls int `yaml:"max_concurrent_calls"`
	// ToolCallTimeoutSeconds bounds one call.
	ToolCallTimeoutSeconds float64 `yaml:"tool_call_timeout_seconds"`
	// Trace says what a result tells of the calls that were made.
	Trace string `yaml:"trace" enum:"summary,off"`
	// MaxToolResultBytes bounds one call's result.
	MaxToolResultBytes Size `yaml:"max_tool_result_bytes"`
	// MaxMemoryBytes bounds the memory of a sandbox, swap included.
	MaxMemoryBytes Size `yaml:"max_memory_bytes"`
	// MaxCPUs is the processor time a sandbox may use, in cores.
	MaxCPUs float64 `yaml:"max_cpus"`
	// MaxProcesses bounds the processes and threads of a sandbox together.
	MaxProcesses int `yaml:"max_processes"`
	// MaxScratchBytes bounds a sandbox's scratch folder.
	MaxScratchBytes Size `yaml:"max_scratch_bytes"`
	// MaxOpenFiles bounds the open files of each process in a sandbox.
	MaxOpenFiles int `yaml:"max_open_files"`
	// PoolSize is how many booted sandboxes wait for programs; 0 for none.
	PoolSize int `yaml:"pool_size"`
	// PoolMax is how many may wait while programs come at a quick pace.
	PoolMax int `yaml:"pool_max"`
}

// Docker is used by the docker sandbox only.
type Docker struct {
	// Host is the engine's address; empty means the one the docker command
	// would use.
	Host string `yaml:"host"`
	// Image has Python 3.9 or later in it.
	Image string `yaml:"image"`
	// Runtime is the engine's OCI runtime, such as runsc; empty means its
	// default.
	Runtime string `yaml:"runtime"`
	// Pull says when the image is fetched.
	Pull string `yaml:"pull" enum:"missing,never,always"`
}

// Python is used by the sandboxes that run the host's own interpreter.
type Python struct {
	// Path is the interpreter; empty means the best one found.
	Path string `yaml:"path"`
}

// Native is used by the native sandbox only.
type Native struct {
	// Zygote boots Python once and forks it for every run, where otherwise it
	// is booted for each.
	Zygote bool `yaml:"zygote"`
}

// Default returns the configuration of an empty file.
func Default() *Config {
	return &Config{
		Execution: Execution{
			TimeoutSeconds:         120,
			MaxOutputBytes:         64 << 10,
			Sandbox:                "auto",
			MaxToolCalls:           100,
			MaxConcurrentCalls:     8,
			ToolCallTimeoutSeconds: 60,
			Trace:                  "summary",
			MaxToolResultBytes:     16 << 20,
			MaxMemoryBytes:         512 << 20,
			MaxCPUs:                1,
			MaxProcesses:           64,
			MaxScratchBytes:        64 << 20,
			MaxOpenFiles:           256,
			PoolSize:               1,
			PoolMax:                4,
		},
		Docker: Docker{
			Image: "python:3.12-slim",
			Pull:  "missing",
		},
		Native: Native{Zygote: true},
	}
}

// Clients are the names that Import takes beside paths of files.
func Clients() []string {
	return []string{"claude-code", "claude-desktop", "vscode", "cursor", "codex", "gemini", "windsurf"}
}

// NewServer returns a server of which everything but its name is the default.
func NewServer(name string) Server {
	s := defaultServer()
	s.Name = name
	return s
}

// defaultServer returns what holds for a server until its entry says otherwise.
func defaultServer() Server {
	return Server{Elicitation: true, ConnectTimeoutSeconds: 30, ListTimeoutSeconds: 30}
}
