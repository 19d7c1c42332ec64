package redistest

import (
	"os/exec"
	"syscall"
)

// dieWithUs makes the kernel kill the child when this process dies, in whatever way.
func dieWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
