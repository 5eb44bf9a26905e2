// Package fusedev makes a folder with files that behave like /dev/null,
// /dev/zero, /dev/random and /dev/urandom, where device nodes cannot be made:
// a file system of its own, whose requests the kernel passes to this process
// (FUSE).
//
// It owns the mount and the answers, which a hostile program asks for. It must
// not know sandboxes, nor where the folder is shown.
package fusedev

// Device is where the kernel offers FUSE. Whoever opens it can serve file
// systems, in its own user namespace only; distributions let everyone (mode
// 0666, by udev).
const Device = "/dev/fuse"
