#!/usr/bin/env bash
# Runs the native sandbox's tests on other kernels: in a virtual machine for
# each, made of nothing but packages of a Debian release and binaries built
# here. The guest has cgroup v2 with all controllers, as systemd lays it out.
#
#   run.sh [GUEST...]     bullseye bookworm trixie forky arm64; all
#
#   STEPS='limits-root'   only these steps of guest.sh
#   TESTS='^TestA|^TestB' only these tests of those steps that run tests
#   ACCEL=tcg             the emulator, where KVM is there but does not work
#
# As root on Debian, for apt-get and mkfs. What is downloaded and built stays in
# .cache/kernels, logs with it.
set -euo pipefail
# shellcheck source=test/setup/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/../setup/setup.sh"

here=$root/test/kernels
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
security=${DEBIAN_SECURITY_MIRROR:-http://deb.debian.org/debian-security}

# What a guest consists of beside its kernel: what the tests start or look for.
packages=(base-files base-passwd bash busybox-static coreutils dash findutils grep hostname kmod libc-bin mount passwd python3 sed tzdata util-linux)

# fetch SUITE ARCH KERNEL downloads the packages of a guest and all they need,
# by an apt that knows nothing of this machine's packages, and changes none.
fetch() {
  local apt=$work/apt
  mkdir -p "$apt"/{etc/preferences.d,etc/apt.conf.d,lists/partial,archives/partial}
  : >"$apt/status"
  {
    printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$mirror" "$1"
    [ "$1" = forky ] || printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s-security main\n' "$security" "$1"
  } >"$apt/etc/sources.list"
  local options=(-q -o "Dir::Etc=$apt/etc" -o "Dir::State::Lists=$apt/lists" -o "Dir::State::status=$apt/status"
    -o "Dir::Cache::archives=$apt/archives" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
    -o "APT::Architecture=$2" -o "APT::Architectures=$2" -o APT::Install-Recommends=false
    -o APT::Sandbox::User=root -o Acquire::Languages=none)
  {
    apt-get "${options[@]}" update
    apt-get "${options[@]}" install -y --download-only "${packages[@]}" "$3"
  } >"$work/apt.log" 2>&1 || {
    tail -n 15 "$work/apt.log" >&2
    fail "the packages of $1 for $2 cannot be had: see the lines above"
  }
}

# unpack lays out the root file system. No package is configured: nothing of
# another architecture has to run here.
unpack() {
  local dir deb
  mkdir -p "$work/root"/{usr,dev,proc,sys,run,tmp,tests}
  for dir in bin sbin lib lib64; do
    mkdir -p "$work/root/usr/$dir"
    ln -s "usr/$dir" "$work/root/$dir"
  done
  for deb in "$work"/apt/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -C "$work/root" -x --keep-directory-symlink
  done
  rm -rf "$work/root/usr/share"/{doc,man,locale,info,lintian,bug}
  cp "$work/root/usr/share/base-passwd/passwd.master" "$work/root/etc/passwd"
  cp "$work/root/usr/share/base-passwd/group.master" "$work/root/etc/group"
  : >"$work/root/etc/environment"
  chmod 1777 "$work/root/tmp"
}

# initramfs makes what loads the disk's modules and hands over to init.sh.
initramfs() {
  local version boot=$work/boot module
  version=$(basename "$work"/root/lib/modules/*)
  depmod -b "$work/root" "$version"
  mkdir -p "$boot"/{proc,new}
  cp "$(find "$work/root/usr/bin" "$work/root/usr/sbin" -name busybox | head -n 1)" "$boot/busybox"
  cp "$here/initramfs.sh" "$boot/init"
  chmod 755 "$boot/init"
  : >"$boot/modules"
  for module in virtio_pci virtio_mmio virtio_blk ext4; do
    modprobe -d "$work/root" -S "$version" --show-depends "$module" 2>/dev/null | sed -n 's/^insmod //p' | while read -r file _; do
      cp "$file" "$boot/"
      basename "$file" >>"$boot/modules"
    done
  done
  find "$boot" -name '*.ko.xz' -exec unxz {} +
  sed -i 's/\.xz$//' "$boot/modules"
  (cd "$boot" && find . | cpio --quiet -o -H newc) | gzip -1 >"$work/initrd"
  cp "$work"/root/boot/vmlinuz-* "$work/kernel"
  rm -rf "$boot"
}

# prepare NAME SUITE ARCH KERNEL makes a guest's disk, but for the tests.
prepare() {
  [ ! -e "$work/ready" ] || return 0
  say "$1: fetching and unpacking packages of $2 for $3 (log: $work/apt.log)"
  rm -rf "$work"
  mkdir -p "$work"
  fetch "$2" "$3" "$4"
  unpack
  initramfs
  rm -rf "$work/apt"
  touch "$work/ready"
}

# build ARCH puts the tests on a guest's disk.
build() {
  local tests=$work/root/tests package
  rm -rf "$tests"
  mkdir -p "$tests"
  export CGO_ENABLED=0 GOARCH=$1
  go build -C "$root" -o "$tests/ptc-mcp" ./cmd/ptc-mcp
  for package in internal/sandbox/native internal/sandbox/seccomp test/escape; do
    go test -C "$root" -c -o "$tests/$(basename $package).test" "./$package"
  done
  cp "$here"/guest.sh "$here"/programs/* "$tests/"
  cp "$here/init.sh" "$work/root/init"
  chmod 755 "$work/root/init"
  mkfs.ext4 -q -F -d "$work/root" "$work/disk" 2G >&2
}

# boot ARCH runs the guest. What the steps say comes out as it is said, and
# everything goes to the log.
boot() {
  local accel=${ACCEL:-tcg} machine=() console=ttyS0
  if [ "$1" = amd64 ] && [ -z "${ACCEL:-}" ] && [ -w /dev/kvm ] && grep -qE '^flags.* (vmx|svm)' /proc/cpuinfo; then accel=kvm; fi
  case $1-$accel in
  amd64-kvm) machine=(qemu-system-x86_64 -cpu host) ;;
  amd64-*) machine=(qemu-system-x86_64 -cpu 'max,la57=off') ;;
  arm64-*) machine=(qemu-system-aarch64 -machine virt -cpu cortex-a72) console=ttyAMA0 ;;
  esac
  say "$(basename "$work"): booting with $accel (log: $work/console.log)"
  nice -n 5 "${machine[@]}" -accel "$accel" -smp 1 -m 2048 -nographic -nodefaults -no-reboot -serial stdio \
    -kernel "$work/kernel" -initrd "$work/initrd" \
    -drive "file=$work/disk,format=raw,if=virtio,snapshot=on" \
    -append "console=$console panic=-1 quiet loglevel=4 mitigations=off ptc.steps=$(tr ' ' , <<<"${STEPS:-}") ptc.tests=${TESTS:-} $([ "$accel" = kvm ] || echo ptc.emulated)" </dev/null 2>&1 |
    sed -u 's|\r||g' | tee "$work/console.log" | grep --line-buffered '^== '
  if ! grep -q '^== all passed' "$work/console.log"; then
    say "$(basename "$work"): failed"
    failed+=("$(basename "$work")")
  fi
}

can_install || fail 'the guests are made of Debian packages: run this as root on Debian'
tools=()
for tool in qemu-system-x86_64:qemu-system-x86 qemu-system-aarch64:qemu-system-arm cpio:cpio depmod:kmod mkfs.ext4:e2fsprogs xz:xz-utils; do
  command -v "${tool%%:*}" >/dev/null || tools+=("${tool##*:}")
done
[ ${#tools[@]} -eq 0 ] || install_packages "${tools[@]}"

[ $# -gt 0 ] || set -- bullseye bookworm trixie forky arm64
failed=()
for guest; do
  work=$cache/kernels/$guest
  case $guest in
  bullseye | bookworm | trixie | forky) suite=$guest arch=amd64 ;;
  arm64) suite=bookworm arch=arm64 ;;
  *) fail "no guest $guest: bullseye bookworm trixie forky arm64" ;;
  esac
  prepare "$guest" "$suite" "$arch" "linux-image-cloud-$arch"
  build "$arch"
  boot "$arch"
done
[ ${#failed[@]} -eq 0 ] || fail "failed: ${failed[*]}; their console.log in $cache/kernels says how"
say 'all passed'
