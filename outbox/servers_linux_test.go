package outbox_test

import "syscall"

// dieWithUs makes the kernel kill a child when this process dies, in whatever way.
func dieWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
