# Title: change the kernel's settings
# Tries: open files below /proc/sys, /proc and /sys for writing: core pattern, modprobe path, magic keys, control groups.
# Seen: none can be opened.
import glob

PATHS = [
    "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/randomize_va_space", "/proc/sys/vm/drop_caches", "/proc/sys/fs/file-max", "/proc/sysrq-trigger",
    "/proc/irq/default_smp_affinity",
    "/sys/kernel/uevent_helper", "/sys/power/state", "/sys/fs/cgroup/cgroup.procs",
]
PATHS += sorted(glob.glob("/sys/fs/cgroup/*/cgroup.procs"))[:3] + sorted(glob.glob("/sys/fs/cgroup/*/release_agent"))[:3]


def opening(path):
    def open_it():
        os.close(os.open(path, os.O_WRONLY))  # nothing is written
        return "open for writing"

    return open_it


for path in PATHS:
    if BAIT["inside"] or os.path.exists(path):
        attempt(path, opening(path), root=True)
report()
