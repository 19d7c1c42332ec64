package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/265d0351/work/cmd/work/internal/exit"
)

// RunWorker reads its options from the first line of in, runs jobs until in ends, and writes marks to out.
func RunWorker(ctx context.Context, in io.Reader, out, log io.Writer) error {
	lines := bufio.NewReader(in)
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return exit.Usagef("%s is started by work demo only: its options are read from standard input, which ended: %w",
			WorkerCommand, err)
	}
	var opts poolOptions
	if err := json.Unmarshal(line, &opts); err != nil {
		return exit.Usagef("%s is started by work demo only: its options are not JSON: %w", WorkerCommand, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	marks := &markWriter{out: json.NewEncoder(out), gate: newGate(opts.HoldAt)}
	defer context.AfterFunc(ctx, marks.gate.open)() // whoever stops waits for what is held
	go func() {
		defer cancel(errParentLeft)
		for {
			order, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			if order == orderToGoOn {
				marks.gate.open()
			}
		}
	}()
	pool := newPool(opts, marks.write, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err := pool.Start(ctx); err != nil {
		if errors.Is(context.Cause(ctx), errParentLeft) {
			return nil // all was done before this process had begun
		}
		return err
	}
	<-ctx.Done()
	if err := pool.Stop(context.Background()); err != nil {
		return fmt.Errorf("worker process did not stop in good order: %w", err)
	}
	return nil
}

var errParentLeft = errors.New("the parent process ended or asked for a stop")

// markWriter writes each mark as one line in one write, so that a kill never leaves one half within the stream.
type markWriter struct {
	mu   sync.Mutex
	out  *json.Encoder
	gate *gate
}

// write drops what cannot be written: then the parent is gone, and the end of the input says so. The end of a run waits
// until the gate lets it through.
func (w *markWriter) write(m mark) {
	if m.What == ended {
		w.gate.pass(func() { w.line(mark{What: holds, At: time.Now()}) })
	}
	w.line(m)
}

func (w *markWriter) line(m mark) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.out.Encode(m) // see write
}
