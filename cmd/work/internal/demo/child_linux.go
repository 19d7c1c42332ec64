package demo

import "syscall"

// childAttributes makes the child die with this process, and keeps the terminal's Ctrl-C from it: this process hears it
// and stops the child in good order.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
