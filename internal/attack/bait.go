package attack

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Limits are those in effect for the runs, for programs to try to exceed.
type Limits struct {
	MemoryBytes  int64 `json:"memory_bytes"`
	ScratchBytes int64 `json:"scratch_bytes"`
	Processes    int   `json:"processes"`
	OpenFiles    int   `json:"open_files"`
	ToolCalls    int   `json:"tool_calls"`
	// OutputBytes bounds what is kept of a run's output.
	OutputBytes int `json:"output_bytes"`
}

// Bait is what a host lays out for attacks to reach. Whatever of it a program
// gets hold of, it holds Token, which is nowhere else.
type Bait struct {
	Token  string `json:"token"`
	Limits Limits `json:"limits"`
	// Tool is a callable name that is not offered to the runs.
	Tool string `json:"tool"`

	// Addresses are hosts and ports that answer over TCP with the token.
	Addresses [][2]any `json:"addresses"`
	// Resolver is a UDP port that answers every query, HTTP a port that
	// answers every request; both on the loopback interface.
	Resolver int `json:"resolver"`
	HTTP     int `json:"http"`
	// UnixPath and UnixAbstract are local sockets that answer with the token;
	// the abstract one is empty where there are none. Engine is a local socket
	// that answers HTTP; Engines are those of real engines.
	UnixPath     string   `json:"unix_path"`
	UnixAbstract string   `json:"unix_abstract"`
	Engine       string   `json:"engine"`
	Engines      []string `json:"engines"`

	// Folder is readable by all and holds File, named FileName; OpenFolder is
	// writable by all. Home holds keys as a home folder does.
	Folder     string `json:"folder"`
	File       string `json:"file"`
	FileName   string `json:"file_name"`
	OpenFolder string `json:"open_folder"`
	Home       string `json:"home"`
	// Setuid is a program with the bit set, if root lays the bait; ID is what
	// it is a copy of.
	Setuid string `json:"setuid"`
	ID     string `json:"id"`
	// Homes are home folders of the host; Objects holds the identities of some
	// of its files and folders, by path.
	Homes   []string          `json:"homes"`
	Objects map[string]string `json:"objects"`
	// Devices are device files of the host that should be out of reach.
	Devices []string `json:"devices"`
	// Environment holds the SHA-256 of each of the host's variables
	// ("NAME=value"), not the variables.
	Environment []string `json:"environment"`

	// PID is a process of the host with the token in its environment; Map is
	// the address of memory in it; TokenPipe what /proc shows as its input.
	PID       int    `json:"pid"`
	Map       uint64 `json:"map"`
	TokenPipe string `json:"token_pipe"`
	// Init is the SHA-256 of the command line of the host's process 1.
	Init string `json:"init"`

	undo []func()
}

// Lay lays out bait, with names and ports that nothing else has. Remove takes
// it away again.
func Lay(ctx context.Context, limits Limits) (*Bait, error) {
	var random [8]byte
	_, _ = rand.Read(random[:]) // crypto/rand never fails
	b := &Bait{
		Token:   hex.EncodeToString(random[:]),
		Limits:  limits,
		Tool:    "mcp__attack__bait",
		Objects: map[string]string{},
		// Lists, not null, for programs that go through them.
		Engines: []string{}, Homes: []string{}, Devices: []string{}, Environment: []string{},
	}
	for _, lay := range []func(context.Context) error{b.layFiles, b.layNetwork, b.laySockets, b.layProcess} {
		if err := lay(ctx); err != nil {
			b.Remove()
			return nil, fmt.Errorf("attack: lay bait: %w", err)
		}
	}
	b.describeHost()
	return b, nil
}

// Remove takes the bait away.
func (b *Bait) Remove() {
	for len(b.undo) > 0 {
		last := len(b.undo) - 1
		b.undo[last]()
		b.undo = b.undo[:last]
	}
}

func (b *Bait) later(f func()) { b.undo = append(b.undo, f) }

func (b *Bait) layFiles(context.Context) error {
	folder, err := os.MkdirTemp("", "ptc-mcp-bait-")
	if err != nil {
		return err
	}
	b.later(func() { _ = os.RemoveAll(folder) })
	// A resolved path, so that links in it are not what stops a program.
	if b.Folder, err = filepath.EvalSymlinks(folder); err != nil {
		return err
	}
	b.FileName = "host-file"
	b.File = filepath.Join(b.Folder, b.FileName)
	b.OpenFolder = filepath.Join(b.Folder, "open")
	b.Home = filepath.Join(b.Folder, "home")
	b.Setuid = filepath.Join(b.Folder, "id")
	b.ID = "/usr/bin/id"
	secret := []byte(b.Token + "\n")
	err = errors.Join(
		os.Chmod(b.Folder, 0o755),
		os.WriteFile(b.File, secret, 0o644),
		os.Mkdir(b.OpenFolder, 0o777),
		os.Chmod(b.OpenFolder, 0o777), // whatever the umask
	)
	for _, key := range []string{".ssh/id_ed25519", ".aws/credentials", ".netrc", ".docker/config.json"} {
		path := filepath.Join(b.Home, filepath.FromSlash(key))
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, secret, 0o644))
	}
	if text, readErr := os.ReadFile(b.ID); readErr == nil && os.Geteuid() == 0 {
		err = errors.Join(err, os.WriteFile(b.Setuid, text, 0o755), os.Chmod(b.Setuid, os.ModeSetuid|0o755))
	}
	return err
}

func (b *Bait) layNetwork(ctx context.Context) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", ":0")
	if err != nil {
		return err
	}
	b.answer(listener)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return err
	}
	for _, host := range append([]string{"127.0.0.1", "::1"}, hostAddresses()...) {
		if reachable(ctx, host, port) {
			number, _ := strconv.Atoi(port) // the port of a listener
			b.Addresses = append(b.Addresses, [2]any{host, number})
		}
	}
	if len(b.Addresses) == 0 {
		return fmt.Errorf("the host cannot reach its own port %s", port)
	}

	packets, err := config.ListenPacket(ctx, "udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	b.later(func() { _ = packets.Close() })
	b.Resolver = packets.LocalAddr().(*net.UDPAddr).Port
	go echo(packets)

	plain, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	b.HTTP = plain.Addr().(*net.TCPAddr).Port
	b.serve(plain)
	return nil
}

func (b *Bait) laySockets(ctx context.Context) error {
	var config net.ListenConfig
	b.UnixPath = filepath.Join(b.Folder, "socket")
	named, err := config.Listen(ctx, "unix", b.UnixPath)
	if err != nil {
		return err
	}
	b.answer(named)
	if hasAbstractSockets {
		b.UnixAbstract = "ptc-mcp-bait-" + b.Token
		abstract, err := config.Listen(ctx, "unix", "@"+b.UnixAbstract)
		if err != nil {
			return err
		}
		b.answer(abstract)
	}
	b.Engine = filepath.Join(b.Folder, "engine")
	engine, err := config.Listen(ctx, "unix", b.Engine)
	if err != nil {
		return err
	}
	b.serve(engine)
	return errors.Join(os.Chmod(b.UnixPath, 0o777), os.Chmod(b.Engine, 0o777))
}

// answer gives the token to whoever connects.
func (b *Bait) answer(listener net.Listener) {
	b.later(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte(b.Token)) // to whom it may concern
			_ = conn.Close()
		}
	}()
}

// serve answers every HTTP request with the token.
func (b *Bait) serve(listener net.Listener) {
	server := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(b.Token)) }),
		ReadHeaderTimeout: 10 * time.Second,
	}
	b.later(func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }() // ends with Close
}

// echo sends every packet back.
func echo(packets net.PacketConn) {
	buffer := make([]byte, 2048)
	for {
		n, from, err := packets.ReadFrom(buffer)
		if err != nil {
			return
		}
		_, _ = packets.WriteTo(buffer[:n], from)
	}
}

// hostAddresses are the addresses of the host beside its loopback, at most four.
func hostAddresses() []string {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var list []string
	for _, a := range addresses {
		network, ok := a.(*net.IPNet)
		if ok && network.IP.IsGlobalUnicast() && len(list) < 4 {
			list = append(list, network.IP.String())
		}
	}
	return list
}

func reachable(ctx context.Context, host, port string) bool {
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// described are files and folders of a host that an image may have by the same
// names: their time and size tell whose they are.
var described = []string{
	"/etc/passwd", "/etc/shadow", "/etc/machine-id", "/etc/hostname", "/boot", "/var/log", "/var/lib/docker", "/root",
}

// engines are where container engines listen.
var engines = []string{
	"/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/var/run/docker/containerd/containerd.sock",
	"/run/podman/podman.sock", "/run/crio/crio.sock",
}

// coveted are device files that a program must not open.
var coveted = []string{
	"/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/xvda", "/dev/loop-control",
	"/dev/loop0", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/vsock", "/dev/uinput", "/dev/snapshot", "/dev/disk0", "/dev/bpf0",
}

// describeHost notes what of the host a program could recognise.
func (b *Bait) describeHost() {
	paths := described
	if home, err := os.UserHomeDir(); err == nil {
		paths = append([]string{home}, paths...)
		b.Homes = append(b.Homes, home)
	}
	for _, path := range paths {
		if id, ok := identity(path); ok {
			b.Objects[path] = id
		}
	}
	for _, path := range engines {
		if info, err := os.Stat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
			b.Engines = append(b.Engines, path)
		}
	}
	for _, path := range coveted {
		if openable(path) {
			b.Devices = append(b.Devices, path)
		}
	}
	for _, pair := range os.Environ() {
		if name, value, _ := strings.Cut(pair, "="); len(value) > 8 && name != "PATH" {
			sum := sha256.Sum256([]byte(pair))
			b.Environment = append(b.Environment, hex.EncodeToString(sum[:]))
		}
	}
}
