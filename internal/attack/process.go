package attack

import (
	"context"
	"os/exec"
)

// layProcess starts a process that waits for the end of its input, and so ends
// with this one, however this one ends.
func (b *Bait) layProcess(context.Context) error {
	victim := exec.Command("cat") //nolint:noctx // it ends with the bait, or with this process
	victim.Env = []string{"PTC_MCP_BAIT=" + b.Token}
	victim.SysProcAttr = victimAttributes()
	input, err := victim.StdinPipe()
	if err != nil {
		return err
	}
	output, err := victim.StdoutPipe()
	if err != nil {
		return err
	}
	if err := victim.Start(); err != nil {
		return err
	}
	b.later(func() {
		_ = input.Close()
		_ = victim.Wait()
	})
	b.PID = victim.Process.Pid
	// Until it answers it may not have replaced this program yet.
	if _, err := input.Write([]byte("x")); err != nil {
		return err
	}
	if _, err := output.Read(make([]byte, 1)); err != nil {
		return err
	}
	return b.describe()
}
