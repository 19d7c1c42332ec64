package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/filetree"
	"github.com/265d0351/work/cmd/work/internal/interrupt"
	"github.com/265d0351/work/embedded"
)

// Options say what a demo does, and with what.
type Options struct {
	Dir         string // whose files are measured
	Redis       string // DSN; "" for an embedded one
	Namespace   string // the run has one of its own, which begins so
	Concurrency int    // jobs that run at the same time, in each process
	Workers     int    // child processes; 0 runs the jobs in this one
	Kill        bool   // one of them midway
	Slow        time.Duration
	Flaky       int // how many jobs that fail at times
	Scheduled   int // how many jobs for later

	Console *console.Console
	Logger  *slog.Logger
	Hurry   context.Context // ends when the user does not want to wait for a stop in good order
	JSON    bool            // print one object
	All     bool            // print every file
	Page    bool            // serve the dashboard meanwhile
	Stay    bool            // and after it, until ctx ends
}

// Run runs the files of a directory through background jobs, judges what came out, and prints it. It is an error
// if anything is not as it should be.
func Run(ctx context.Context, opts Options) (err error) {
	if opts.Dir, err = filetree.OpenDir(opts.Dir); err != nil {
		return err
	}
	opts.Namespace = freshNamespace(opts.Namespace)
	d := &demo{Options: opts}
	d.present = func(out *outcome) error { return out.show(d) }
	_, err = d.run(ctx)
	return err
}

// demo is one run.
type demo struct {
	Options // Dir is absolute, without links; Namespace is of this run alone

	present func(*outcome) error // shows what came out while everything is still there; nil shows nothing

	// What tests hook into; nil otherwise.
	onProgress func(done int)
	tamper     func(*results) // changes the results before they are judged
}

// outcome is everything that a demo found out.
type outcome struct {
	list        filetree.Listing
	rows        []row
	differences []difference
	summary     summary
}

// run does it all. Without an outcome no judgement was reached.
func (d *demo) run(ctx context.Context) (out *outcome, err error) {
	list, err := filetree.List(ctx, d.Dir, d.isOwnOutput)
	if err != nil {
		return nil, err
	}
	dsn, closeRedis, err := d.openRedis()
	if err != nil {
		return nil, err
	}
	defer closeRedis()
	enq, err := work.NewEnqueuer(dsn, work.Namespace(d.Namespace))
	if err != nil {
		return nil, exit.Usagef("%w", err)
	}
	defer enq.Close()
	page, err := d.openPage(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, page.close(d.Hurry)) }()
	judged := &comparison{list: list, orders: plan(len(list.Files), d.Flaky, d.Scheduled), log: newRunLog()}
	began := time.Now()
	killed, err := d.runJobs(ctx, dsn, enq, judged)
	if err != nil {
		return nil, err
	}
	out, err = d.judge(ctx, judged, killed, began)
	if err == nil && d.present != nil {
		err = d.present(out)
	}
	if d.Stay && out != nil {
		err = errors.Join(err, page.wait(ctx))
	}
	return out, err
}

// openRedis returns the DSN of the Redis to use, which is one of our own unless the user named one.
func (d *demo) openRedis() (dsn string, closeRedis func(), err error) {
	if d.Redis != "" {
		return d.Redis, func() {}, nil
	}
	server, err := embedded.Start()
	if err != nil {
		return "", nil, err
	}
	return server.DSN(), server.Close, nil
}

// runJobs starts who runs the jobs, enqueues them, reads back the results and stops all again.
func (d *demo) runJobs(ctx context.Context, dsn string, enq *work.Enqueuer, judged *comparison) (k *killer, err error) {
	hold := 0
	if d.Kill {
		hold = holdAt(len(judged.orders), d.Workers)
	}
	workers, err := d.startWorkers(ctx, dsn, judged.log, hold)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, workers.stop(d.Hurry)) }()
	defer func() { err = interruption(ctx, err) }()
	if err := place(ctx, enq, d.Dir, judged.list.Files, judged.orders); err != nil {
		return nil, err
	}
	shown := console.NewProgress(d.Console, "jobs", len(judged.orders))
	defer shown.Clear()
	if d.Kill {
		k = &killer{fleet: workers.fleet, log: judged.log, tell: shown.Say}
	}
	gathering := &collector{enq: enq, log: judged.log, orders: judged.orders, dead: workers.dead,
		changed: func(done int) error {
			shown.Set(done)
			if d.onProgress != nil {
				d.onProgress(done)
			}
			if k != nil {
				k.killHolder()
			}
			return workers.check()
		}}
	judged.got, err = gathering.run(ctx)
	return k, err
}

// interruption replaces the errors that follow from an interruption: the user knows why.
func interruption(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), interrupt.Err) {
		return fmt.Errorf("%w: the jobs that were not done are left undone", interrupt.Err)
	}
	return err
}

// judge compares the results with a plain walk that is done now.
func (d *demo) judge(ctx context.Context, judged *comparison, k *killer, began time.Time) (*outcome, error) {
	if d.tamper != nil {
		d.tamper(&judged.got)
	}
	shown := console.NewProgress(d.Console, "plain walk", len(judged.list.Files))
	judged.plain = filetree.NewPlainWalk(d.Dir, d.isOwnOutput)
	judged.plain.Visited = func() { shown.Set(len(judged.plain.Found)) }
	err := judged.plain.Run(ctx)
	shown.Clear()
	if err != nil {
		return nil, err
	}
	out := &outcome{list: judged.list, differences: judged.differences(), summary: judged.summarize(began)}
	out.rows = rowsOf(judged)
	var stranded []string
	out.summary.Kill, stranded = k.outcome(judged.orders)
	if d.Kill && out.summary.Kill == nil {
		out.differences = append(out.differences, difference{Subject: "the kill",
			What: "no process came so far that it could be killed amid its jobs: give it files, --flaky or " +
				"--scheduled if there were none"})
	}
	for _, id := range stranded {
		out.differences = append(out.differences,
			difference{Subject: "job " + id, What: "was not begun again after its process was killed"})
	}
	return out, nil
}

// isOwnOutput recognizes the files that this program is writing to, as in `work demo > out.txt`.
func (d *demo) isOwnOutput(info fs.FileInfo) bool {
	for _, stream := range []any{d.Console.Out, d.Console.Err} {
		if f, ok := stream.(*os.File); ok {
			if own, err := f.Stat(); err == nil && os.SameFile(own, info) {
				return true
			}
		}
	}
	return false
}

// freshNamespace keeps a run apart from whatever else is in Redis, and from other runs.
func freshNamespace(prefix string) string { return prefix + "-demo-" + rand.Text()[:10] }
