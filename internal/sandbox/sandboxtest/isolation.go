package sandboxtest

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// report runs a program that prints a JSON object of what it could do.
func (s suite) report(program string, into any) {
	s.Helper()
	e := s.run(program, spec)
	if err := json.Unmarshal([]byte(e.frames), into); err != nil {
		s.Fatalf("the program printed no report: %+v", e)
	}
}

func isolation() []testCase {
	return []testCase{
		{"the host's environment stays outside", func(s suite) {
			const canary = "canary-5fa1c0"
			s.Setenv("PTC_MCP_CANARY", canary)
			e := s.run(`
import os
print(dict(os.environ))
for name in "self", str(os.getppid()), "1":
    try:
        print(open("/proc/" + name + "/environ").read())
    except OSError:
        pass
`, spec)
			if os.Getenv("PTC_MCP_CANARY") != canary {
				s.Fatal("the variable is not even set outside")
			}
			if s.capabilities().Isolated && strings.Contains(e.frames, canary) {
				s.Errorf("the program saw a variable of the host: %s", e.frames)
			}
			if strings.Contains(firstLine(e.frames), canary) {
				s.Errorf("the program was given a variable of the host: %s", e.frames)
			}
		}},
		{"the working folder is writable and empty", func(s suite) {
			e := s.run("import os\nprint(os.listdir('.'))\nopen('note', 'w').write('x')\nprint(os.listdir('.'))", spec)
			if e.frames != "[]\n['note']\n" {
				s.Errorf("got %+v", e)
			}
		}},
		{"nothing else is writable", func(s suite) {
			if !s.capabilities().Isolated {
				return // not claimed
			}
			var written []string
			s.report(`
import json, os
written = []
for folder in {"/", "/bin", "/dev", "/etc", "/home", "/lib", "/opt", "/proc", "/proc/sys/kernel", "/root", "/run", "/srv",
               "/sys", "/sys/fs/cgroup", "/tmp", "/usr", "/usr/local", "/var", "/var/tmp", os.path.dirname(os.__file__)}:
    path = os.path.join(folder, "note")
    try:
        open(path, "w").close()
        written.append(path)
    except OSError:
        pass
print(json.dumps(written))`, &written)
			if len(written) > 0 {
				s.Errorf("the program wrote %v", written)
			}
		}},
		{"it is not root and has no capabilities", func(s suite) {
			if !s.capabilities().Isolated {
				return // not claimed
			}
			var got struct {
				UID    int
				Status map[string]string
			}
			s.report(`
import json, os
try:
    status = dict(line.rstrip().split(":\t", 1) for line in open("/proc/self/status") if ":\t" in line)
except OSError:
    status = {}
print(json.dumps({"uid": os.getuid(), "status": status}))`, &got)
			if got.UID == 0 {
				s.Error("the program runs as root")
			}
			for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
				if value := strings.Trim(got.Status[set], "0"); value != "" {
					s.Errorf("%s is %s", set, got.Status[set])
				}
			}
			for key, want := range map[string]string{"NoNewPrivs": "1", "Seccomp": "2"} {
				if value, known := got.Status[key]; known && value != want {
					s.Errorf("%s is %s, want %s", key, value, want)
				}
			}
		}},
		{"host files cannot be read", func(s suite) {
			if !s.capabilities().Isolated {
				return // not claimed
			}
			path := filepath.Join(s.TempDir(), "secret")
			if err := os.WriteFile(path, []byte("secret"), 0o644); err != nil {
				s.Fatal(err)
			}
			if text, err := os.ReadFile(path); err != nil || string(text) != "secret" {
				s.Fatalf("the file cannot even be read outside: %v", err)
			}
			e := s.run(fmt.Sprintf("import os\nprint(os.path.exists(%q), os.path.exists(%q))", path, "/var/run/docker.sock"), spec)
			if e.frames != "False False\n" {
				s.Errorf("got %+v", e)
			}
		}},
		{"there is no network", func(s suite) {
			if s.capabilities().Isolated {
				noNetwork(s)
			}
		}},
	}
}

// noNetwork listens on every address of this machine, shows that it can be
// reached, and lets a program try the same, and every other address family.
func noNetwork(s suite) {
	listener, err := net.Listen("tcp", ":0")
	if err != nil {
		s.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	addresses := reachable(s.T, port)
	if len(addresses) == 0 {
		s.Fatal("the listener cannot even be reached outside")
	}
	list, _ := json.Marshal(addresses)
	var got []string
	s.report(fmt.Sprintf(`
import json, socket
open = []
for address in %s:
    try:
        socket.create_connection((address, %d), timeout=2)
        open.append(address)
    except OSError:
        pass
for name in "AF_NETLINK", "AF_VSOCK", "AF_PACKET", "AF_ALG", "AF_INET6", "AF_BLUETOOTH", "AF_CAN", "AF_TIPC", "AF_RDS", "AF_QIPCRTR":
    family = getattr(socket, name, None)
    for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET:
        if family is not None:
            try:
                socket.socket(family, kind)
                open.append(name)
            except OSError:
                pass
try:
    socket.getaddrinfo("example.com", 443)
    open.append("DNS")
except OSError:
    pass
print(json.dumps(open))`, list, port), &got)
	if len(got) > 0 {
		s.Errorf("the program reached %v", got)
	}
}

// reachable returns the addresses of this machine on which a port answers.
func reachable(t *testing.T, port int) []string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, a := range addresses {
		network, ok := a.(*net.IPNet)
		if !ok || network.IP.To4() == nil {
			continue
		}
		conn, err := net.Dial("tcp", net.JoinHostPort(network.IP.String(), fmt.Sprint(port)))
		if err == nil {
			conn.Close()
			list = append(list, network.IP.String())
		}
	}
	return list
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
