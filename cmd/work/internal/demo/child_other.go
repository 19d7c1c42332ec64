//go:build !linux

package demo

import "syscall"

// childAttributes has nothing to add here: a child ends when its standard input does.
func childAttributes() *syscall.SysProcAttr { return nil }
