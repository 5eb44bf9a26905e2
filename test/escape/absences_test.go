//go:build linux

package escape

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// absences are the attempts that some kernels cannot make even without a
// sandbox. Each probe says, in its own way, whether this kernel is one of
// those: nil means that it has what the attempt needs.
var absences = map[string]func() error{
	"network_families: AF_AX25":       family(unix.AF_AX25),
	"network_families: AF_IPX":        family(unix.AF_IPX),
	"network_families: AF_APPLETALK":  family(unix.AF_APPLETALK),
	"network_families: AF_X25":        family(unix.AF_X25),
	"network_families: AF_KEY":        family(unix.AF_KEY),
	"network_families: AF_RDS":        family(unix.AF_RDS),
	"network_families: AF_PPPOX":      family(unix.AF_PPPOX),
	"network_families: AF_LLC":        family(unix.AF_LLC),
	"network_families: AF_CAN":        family(unix.AF_CAN),
	"network_families: AF_TIPC":       family(unix.AF_TIPC),
	"network_families: AF_BLUETOOTH":  family(unix.AF_BLUETOOTH),
	"network_families: AF_RXRPC":      family(unix.AF_RXRPC),
	"network_families: AF_PHONET":     family(unix.AF_PHONET),
	"network_families: AF_IEEE802154": family(unix.AF_IEEE802154),
	"network_families: AF_CAIF":       family(unix.AF_CAIF),
	"network_families: AF_ALG":        family(unix.AF_ALG),
	"network_families: AF_NFC":        family(unix.AF_NFC),
	"network_families: AF_VSOCK":      family(unix.AF_VSOCK),
	"network_families: AF_KCM":        family(unix.AF_KCM),
	"network_families: AF_QIPCRTR":    family(unix.AF_QIPCRTR),
	"network_families: AF_SMC":        family(unix.AF_SMC),
	"network_families: AF_XDP":        family(unix.AF_XDP),
	"network_families: AF_MCTP":       family(unix.AF_MCTP),
	"network_families: AF_INET6":      family(unix.AF_INET6),

	"proc_files: root of process 1": func() error { _, err := os.Readlink("/proc/1/root"); return err },
	"host_processes: limits of one": func() error { return held(unix.CAP_SYS_RESOURCE) },

	"machine: kexec_load": func() error {
		_, _, errno := unix.RawSyscall6(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0xFFFF, 0, 0)
		return absent(errno)
	},
	"machine: init_module":   func() error { return absent(unix.InitModule(nil, "")) },
	"machine: delete_module": func() error { return absent(unix.DeleteModule("no-such-module", unix.O_NONBLOCK)) },
	"foreign_calls: x32":     x32,
}

// absent passes on the one error that means that the kernel lacks a call.
func absent(err error) error {
	if errors.Is(err, unix.ENOSYS) {
		return err
	}
	return nil
}

// held says whether this process has a capability, which even root may lack.
func held(capability int) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	if data[capability/32].Effective&(1<<(capability%32)) == 0 {
		return fmt.Errorf("capability %d is not held", capability)
	}
	return nil
}

// x32 probes the numbers of a table that few kernels are built with.
func x32() error {
	if runtime.GOARCH != "amd64" {
		return errors.New("only x86-64 has it")
	}
	const bit, getpid = 0x40000000, 39
	_, _, errno := unix.RawSyscall(bit|getpid, 0, 0, 0)
	return absent(errno)
}

// family probes whether any kind of socket of a family can be made.
func family(number int) func() error {
	return func() error {
		var refusals []error
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_SEQPACKET} {
			fd, err := unix.Socket(number, kind, 0)
			if err == nil {
				return unix.Close(fd)
			}
			refusals = append(refusals, err)
		}
		return errors.Join(refusals...)
	}
}
