package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clockTick is the unit of /proc, the same on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// familyCPU is the processor time of a process, of its living children and of those that it has waited for.
func familyCPU(pid int) (time.Duration, error) {
	parent, err := readStat(pid)
	if err != nil {
		return 0, err
	}
	total := parent.own + parent.waited
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, path := range stats {
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		if s, err := readStat(id); err == nil && s.parent == pid { // it may have ended in between
			total += s.own
		}
	}
	return total, nil
}

type stat struct {
	parent      int
	own, waited time.Duration
}

func readStat(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	// The name in parentheses may hold spaces, so fields are counted from behind it: state is the first.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 15 {
		return stat{}, fmt.Errorf("/proc/%d/stat has %d fields behind the name, wanted 15", pid, len(fields))
	}
	var n [15]int64
	for i := 1; i < len(n); i++ {
		n[i], _ = strconv.ParseInt(fields[i], 10, 64) // those that are no numbers are not read below
	}
	return stat{
		parent: int(n[1]), own: time.Duration(n[11]+n[12]) * clockTick, waited: time.Duration(n[13]+n[14]) * clockTick,
	}, nil
}

// OwnCPU is the processor time that this program has used so far.
func OwnCPU() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, err
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}
