package server

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// redisCore and programCore are the cores of Redis, and of this program and all else that it starts, once they are
// parted. On two cores neither then takes from what the other could do.
const (
	redisCore   = "0"
	programCore = "1"
)

var parted bool

// Part has this program, and what it starts from now on, run on one core, but a Redis on another one.
func Part() error {
	if runtime.NumCPU() < 2 {
		return fmt.Errorf("--pin needs two cores, and there is %d", runtime.NumCPU())
	}
	out, err := exec.Command("taskset", "--all-tasks", "--pid", "--cpu-list", programCore,
		strconv.Itoa(os.Getpid())).CombinedOutput()
	if err != nil {
		return fmt.Errorf("taskset: %w: %s", err, strings.TrimSpace(string(out)))
	}
	runtime.GOMAXPROCS(1)
	parted = true
	return nil
}

// onItsCore is the command that starts Redis, on its core once they are parted.
func onItsCore(path string, args []string) *exec.Cmd {
	if parted {
		return exec.Command("taskset", append([]string{"--cpu-list", redisCore, path}, args...)...)
	}
	return exec.Command(path, args...)
}
