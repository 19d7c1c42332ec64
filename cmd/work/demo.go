package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/embedded"
)

// demo runs the files of a directory through background jobs and judges what came out.
type demo struct {
	dir         string // absolute, without links
	redis       string // DSN; "" for an embedded one
	namespace   string // of this run alone
	concurrency int    // per pool
	workers     int    // child processes; 0 runs the jobs in this one
	kill        bool   // one of them midway
	slow        time.Duration
	flaky       int // how many jobs that fail at times
	scheduled   int // how many jobs for later
	console     *console
	logger      *slog.Logger
	hurry       context.Context // ends when the user does not want to wait for a stop in good order
	page        bool            // serve the dashboard meanwhile
	stay        bool            // and after it, until ctx ends

	present func(*outcome) error // shows what came out while everything is still there; nil shows nothing

	// What tests hook into; nil otherwise.
	onProgress func(done int)
	tamper     func(*results) // changes the results before they are judged
}

// outcome is everything that a demo found out.
type outcome struct {
	list        listing
	rows        []row
	differences []difference
	summary     summary
}

// run does it all. Without an outcome no judgement was reached.
func (d *demo) run(ctx context.Context) (out *outcome, err error) {
	list, err := walk(ctx, d.dir, d.isOwnOutput)
	if err != nil {
		return nil, err
	}
	dsn, closeRedis, err := d.openRedis()
	if err != nil {
		return nil, err
	}
	defer closeRedis()
	enq, err := work.NewEnqueuer(dsn, work.Namespace(d.namespace))
	if err != nil {
		return nil, usagef("%w", err)
	}
	defer enq.Close()
	page, err := d.openPage(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, page.close(d.hurry)) }()
	judged := &comparison{list: list, orders: plan(len(list.files), d.flaky, d.scheduled), book: newLedger()}
	began := time.Now()
	killed, err := d.runJobs(ctx, dsn, enq, judged)
	if err != nil {
		return nil, err
	}
	out, err = d.judge(ctx, judged, killed, began)
	if err == nil && d.present != nil {
		err = d.present(out)
	}
	if d.stay && out != nil {
		err = errors.Join(err, page.wait(ctx))
	}
	return out, err
}

// openRedis returns the DSN of the Redis to use, which is one of our own unless the user named one.
func (d *demo) openRedis() (dsn string, closeRedis func(), err error) {
	if d.redis != "" {
		return d.redis, func() {}, nil
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
	if d.kill {
		hold = holdAt(len(judged.orders), d.workers)
	}
	crew, err := d.muster(ctx, dsn, judged.book, hold)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, crew.stop(d.hurry)) }()
	defer func() { err = interruption(ctx, err) }()
	if err := place(ctx, enq, d.dir, judged.list.files, judged.orders); err != nil {
		return nil, err
	}
	shown := newProgress(d.console, "jobs", len(judged.orders))
	defer shown.clear()
	if d.kill {
		k = &killer{fleet: crew.fleet, book: judged.book, tell: shown.say}
	}
	gathering := &collector{enq: enq, book: judged.book, orders: judged.orders, dead: crew.dead,
		look: func(done int) error {
			shown.set(done)
			if d.onProgress != nil {
				d.onProgress(done)
			}
			if k != nil {
				k.look()
			}
			return crew.check()
		}}
	judged.got, err = gathering.run(ctx)
	return k, err
}

// interruption replaces the errors that follow from an interruption: the user knows why.
func interruption(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errInterrupted) {
		return fmt.Errorf("%w: the jobs that were not done are left undone", errInterrupted)
	}
	return err
}

// judge compares the results with a plain walk that is done now.
func (d *demo) judge(ctx context.Context, judged *comparison, k *killer, began time.Time) (*outcome, error) {
	if d.tamper != nil {
		d.tamper(&judged.got)
	}
	shown := newProgress(d.console, "plain walk", len(judged.list.files))
	judged.plain = newPlainWalk(d.dir, d.isOwnOutput)
	judged.plain.visited = func() { shown.set(len(judged.plain.found)) }
	err := judged.plain.run(ctx)
	shown.clear()
	if err != nil {
		return nil, err
	}
	out := &outcome{list: judged.list, differences: judged.differences(), summary: judged.summarize(began)}
	out.rows = rowsOf(judged)
	var stranded []string
	out.summary.Kill, stranded = k.outcome(judged.orders)
	if d.kill && out.summary.Kill == nil {
		out.differences = append(out.differences, difference{Subject: "the kill",
			What: "no process came so far that it could be killed amid its jobs: give it files, --flaky or --scheduled " +
				"if there were none"})
	}
	for _, id := range stranded {
		out.differences = append(out.differences,
			difference{Subject: "job " + id, What: "was not begun again after its process was killed"})
	}
	return out, nil
}

// isOwnOutput recognizes the files that this program is writing to, as in `work demo > out.txt`.
func (d *demo) isOwnOutput(info fs.FileInfo) bool {
	for _, stream := range []any{d.console.out, d.console.err} {
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

// redacted is a DSN without its password.
func redacted(dsn string) string {
	parsed, err := url.Parse(dsn)
	if err != nil {
		return "the given DSN"
	}
	parsed.RawQuery = ""
	return parsed.Redacted()
}
