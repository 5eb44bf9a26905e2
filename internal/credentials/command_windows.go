package credentials

import "os/exec"

// killTree leaves a command as it is: its own end has to do.
func killTree(*exec.Cmd) {}
