#!/busybox sh
# shellcheck shell=dash
# The first program of a guest: loads the modules that its disk needs, and
# hands over to init.sh there.
while read -r module; do /busybox insmod "/$module" 2>/dev/null; done </modules
/busybox mount -t devtmpfs dev /proc
tries=0
until [ -b /proc/vda ] || [ "$tries" -gt 100 ]; do
  tries=$((tries + 1))
  /busybox sleep 0.1
done
/busybox mount -t ext4 /proc/vda /new
/busybox umount /proc
exec /busybox switch_root /new /init
