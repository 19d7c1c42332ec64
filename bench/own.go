package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/265d0351/work/bench/contest"
	"github.com/265d0351/work/bench/peer"
	"github.com/265d0351/work/bench/scenario"
)

// ownCount is how many tasks BenchmarkEndToEndSimple of asynq works off, and ownConcurrency with how many goroutines.
const (
	ownCount       = 100_000
	ownConcurrency = 10
)

// compareOwn runs the benchmark that asynq publishes with its source, and our adapter for asynq with the same load on
// the same Redis. If the former were much faster, the adapter would be doing something wrong.
func compareOwn(ctx context.Context, stdout, stderr io.Writer) error {
	lib := peer.Asynq{}
	stage, err := openStage(ctx, "", []peer.Library{lib})
	if err != nil {
		return err
	}
	defer stage.Close()
	theirs, err := runAsynqBenchmark(ctx, stage.Redis.Addr, stderr)
	if err != nil {
		return err
	}
	game := &contest.Contest{
		Stage: stage, Libraries: []peer.Library{lib}, Size: scenario.Full, Rounds: 1, Progress: stderr,
		Scenarios: []scenario.Scenario{scenario.AsynqOwn(ownConcurrency, ownCount)},
	}
	rows, failures := game.Run(ctx)
	if len(failures) > 0 {
		return fmt.Errorf("our adapter: %s", failures[0].Error)
	}
	ours, _ := rows[0].Median(lib.Name())
	_, err = fmt.Fprintf(stdout,
		"asynq's BenchmarkEndToEndSimple: %.0f/s; the same load through our adapter: %.0f/s; %.2f of it (wanted: at "+
			"least 0.85)\n",
		theirs, ours, ours/theirs)
	return err
}

// runAsynqBenchmark tests a copy of the module, since the module cache is read-only and has no go.sum of its tests.
func runAsynqBenchmark(ctx context.Context, redis string, stderr io.Writer) (float64, error) {
	where, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/hibiken/asynq").Output()
	if err != nil {
		return 0, fmt.Errorf("find the module of asynq: %w", err)
	}
	dir, err := os.MkdirTemp("", "bench-asynq-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir) //lint:ignore errcheck a leftover in the temporary directory
	copied := filepath.Join(dir, "asynq")
	if err := os.CopyFS(copied, os.DirFS(strings.TrimSpace(string(where)))); err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-mod=mod", "-run", "^$", "-bench", "^BenchmarkEndToEndSimple$",
		"-benchtime", "3x", ".", "-redis_addr", redis)
	cmd.Dir, cmd.Stderr = copied, stderr
	cmd.Env = append(os.Environ(), "GOWORK=off")
	output, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("asynq's own benchmark: %w: %s", err, output)
	}
	found := regexp.MustCompile(`([0-9.e+]+) ns/op`).FindSubmatch(output)
	if found == nil {
		return 0, fmt.Errorf("asynq's own benchmark printed no ns/op: %s", output)
	}
	nanos, err := strconv.ParseFloat(string(found[1]), 64)
	return ownCount / (nanos / 1e9), err
}
