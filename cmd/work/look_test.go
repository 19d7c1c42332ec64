package main

import (
	"strings"
	"testing"

	"github.com/265d0351/work/cmd/work/internal/clitest"
)

// Every command that looks, as a person and as a program read it.
func TestCommandsThatLook(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.Importing()
	group := s.Group("mail")
	for _, args := range [][]string{
		{"queues"}, {"queues", "mail"}, {"queues", "nobody"},
		{"jobs", "list"}, {"jobs", "list", "--state", "dead"},
		{"jobs", "list", "--state", "queued", "--name", "greet", "--limit", "2"},
		{"jobs", "list", "--state", "succeeded", "--name", "report"}, {"jobs", "list", "--name", "report", "--ended"},
		{"jobs", "search", "--state", "succeeded", "--tag", "eu"},
		{"jobs", "list", "--state", "stalled"}, {"jobs", "list", "--name", "greet", "--ids"},
		{"jobs", "search", "--error", "disk"}, {"jobs", "search", "--tag", "eu", "--meta", "user=7", "--source", "77",
			"--args", "ann", "--older-than", "1h"},
		{"jobs", "show", "mail-1"}, {"jobs", "show", "import-1", "report-1"}, {"jobs", "show", "nobody"},
		{"jobs", "show", "greet-1", "nobody"},
		{"jobs", "wait", "report-1"}, {"jobs", "wait", "mail-1"}, {"jobs", "wait", "nobody"},
		{"jobs", "log", "export-1"}, {"jobs", "log", "greet-1"}, {"jobs", "log", "nobody"},
		{"workers"}, {"workers", "list"}, {"workers", "show", s.Worker()}, {"workers", "show", "nobody"},
		{"workers", "ping"},
		{"schedules"}, {"errors"}, {"errors", "--name", "export"}, {"errors", "--name", "nobody"},
		{"stats", "--since", "2h"}, {"stats", "mail", "--since", "90d"}, {"stats", "nobody"}, {"limits"},
		{"jobs", "retry", "--state", "dead", "--error-group", group, "--dry-run"},
		{"errors", "retry", group, "--dry-run"},
		{"jobs", "delete", "mail-1", "nobody", "--dry-run"}, {"jobs", "cancel", "--state", "running", "--dry-run"},
		{"purge", "greet", "--dry-run"},
	} {
		for _, extra := range [][]string{nil, {"--json"}} {
			args := append(append([]string{}, args...), extra...)
			name := strings.ReplaceAll(strings.ReplaceAll(strings.Join(args, " "), group, "GROUP"), s.Worker(),
				"WORKER")
			t.Run(name, func(t *testing.T) {
				clitest.Golden(t, "look/"+fileName(name), s.settled(s.call(args...)))
			})
		}
	}
}
