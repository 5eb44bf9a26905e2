#!/bin/sh
# Process 1 of a guest: what an init system does that the tests depend on, then
# the tests, then the end.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t securityfs security /sys/kernel/security
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts /root
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
chmod 1777 /tmp /dev/shm
ln -s /proc/self/fd /dev/fd
mount -t cgroup2 -o nsdelegate,memory_recursiveprot cgroup /sys/fs/cgroup
modprobe overlay
busybox ip link set lo up
ldconfig
hostname guest
# shellcheck disable=SC3045 # this sh is dash, which has it
ulimit -n 4096
setsid sh /tests/guest.sh </dev/null 2>&1
sync
busybox poweroff -f
