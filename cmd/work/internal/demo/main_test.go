package demo

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/265d0351/work/internal/redistest"
)

// The test binary stands in for the program: a fleet starts it with the hidden command, and then it is a child.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == WorkerCommand {
		if err := RunWorker(context.Background(), os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, "work:", err)
			os.Exit(1)
		}
		return
	}
	redistest.Main(m)
}
