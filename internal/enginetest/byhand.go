package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/inspect/doctor"
)

// ByHand is what an operator does by hand, or looks at, in the words of the tests.
type ByHand struct{ *inspect.Inspector }

// Retry runs a job now.
func (b ByHand) Retry(ctx context.Context, id string) error { return b.RetryNow(ctx, id) }

// PurgeAll removes all jobs of a name that wait.
func (b ByHand) PurgeAll(ctx context.Context, name string) error {
	_, err := b.Purge(ctx, name, inspect.PurgeOptions{})
	return err
}

// Declared are the limits that pools declare, by name.
func (b ByHand) Declared(ctx context.Context) (map[string]work.Limit, error) {
	limits, err := b.Limits(ctx)
	declared := map[string]work.Limit{}
	for _, l := range limits {
		declared[l.Name] = l.Declared
	}
	return declared, err
}

// SeenSchedules are all schedules.
func (b ByHand) SeenSchedules(ctx context.Context) (seen []SeenSchedule, err error) {
	all, err := b.Schedules(ctx)
	for _, one := range all {
		seen = append(seen, SeenSchedule(one))
	}
	return seen, err
}

// Messages are those of the log of a job.
func (b ByHand) Messages(ctx context.Context, id string) (messages []string, err error) {
	lines, err := b.Log(ctx, id, 0)
	for _, line := range lines {
		messages = append(messages, line.Message)
	}
	return messages, err
}

// Lines are those of the log of a job.
func (b ByHand) Lines(ctx context.Context, id string) (lines []SeenLine, err error) {
	log, err := b.Log(ctx, id, 0)
	for _, line := range log {
		lines = append(lines, SeenLine{Time: line.Time, Message: line.Message, Attrs: line.Attrs})
	}
	return lines, err
}

// Sums are what became of the jobs of each name.
func (b ByHand) Sums(ctx context.Context, by time.Duration, names ...string) (map[string]SeenSums, error) {
	history, err := b.History(ctx, inspect.HistoryOptions{Names: names, By: by})
	sums := map[string]SeenSums{}
	for name, points := range history {
		var all SeenSums
		for _, p := range points {
			all.Done, all.Failed, all.Dead = all.Done+p.Done, all.Failed+p.Failed, all.Dead+p.Dead
			all.Run, all.Waited = all.Run+p.Run.Count(), all.Waited+p.Waited.Count()
		}
		sums[name] = all
	}
	return sums, err
}

// ErrorDigests are the groups of errors of a name, and how many there are of each.
func (b ByHand) ErrorDigests(ctx context.Context, name string) (digests []string, counts []int64, err error) {
	groups, err := b.Errors(ctx, name)
	for _, g := range groups {
		digests, counts = append(digests, g.Digest), append(counts, g.Count)
	}
	return digests, counts, err
}

// Served are the names that each living worker serves.
func (b ByHand) Served(ctx context.Context) (served [][]string, err error) {
	workers, err := b.Workers(ctx)
	for _, w := range workers {
		if w.Alive {
			served = append(served, w.Queues)
		}
	}
	return served, err
}

// Findings are what the doctor finds.
func (b ByHand) Findings(ctx context.Context, patience time.Duration) ([]SeenFinding, error) {
	return b.examine(ctx, doctor.Options{Patience: patience})
}

// Repairs are what the doctor mends.
func (b ByHand) Repairs(ctx context.Context, patience time.Duration) ([]SeenFinding, error) {
	return b.examine(ctx, doctor.Options{Patience: patience, Repair: true})
}

func (b ByHand) examine(ctx context.Context, opts doctor.Options) (found []SeenFinding, err error) {
	diagnosis, err := doctor.Examine(ctx, b.Inspector, opts)
	for _, f := range diagnosis.Findings {
		found = append(found, SeenFinding{Check: string(f.Check), ID: f.ID, Queue: f.Queue,
			Text: fmt.Sprintf("%+v", f), Repaired: f.Repaired})
	}
	return found, err
}

// Told is all that is said of dead jobs, of their errors and by the doctor.
func (b ByHand) Told(ctx context.Context, ids ...string) (string, error) {
	var told strings.Builder
	for _, id := range ids {
		info, err := b.Job(ctx, id)
		if err != nil {
			return "", err
		}
		if info.State != work.StateDead || info.Reason == "" {
			return "", errors.New(id + " is not dead, or nothing says why")
		}
		info.Args = nil
		fmt.Fprintf(&told, "%+v\n", *info)
	}
	groups, err := b.Errors(ctx, "")
	if err != nil {
		return "", err
	}
	diagnosis, err := doctor.Examine(ctx, b.Inspector, doctor.Options{})
	return told.String() + fmt.Sprintf("%+v\n%+v", groups, diagnosis.Findings), err
}

// ReadAll makes one of the reads of all names.
func (b ByHand) ReadAll(ctx context.Context, what string, names []string) (err error) {
	switch what {
	case "queues":
		_, err = b.Queues(ctx)
	case "limits":
		_, err = b.Limits(ctx)
	case "workers":
		_, err = b.Workers(ctx)
	case "history":
		_, err = b.History(ctx, inspect.HistoryOptions{Names: names, Since: time.Now().Add(-time.Minute)})
	default:
		err = errors.New("what is " + what)
	}
	return err
}

// SeenSchedule is a schedule as it is in Redis.
type SeenSchedule struct {
	ID, Spec, Name string
	Args           json.RawMessage
	Options        work.PeriodicOptions
	Service        string
	Paused         bool
	Last           time.Time
	LastJob        string
	Next           time.Time
	Problem        error
}

// SeenLine is a line of a log.
type SeenLine struct {
	Time    time.Time
	Message string
	Attrs   json.RawMessage
}

// SeenSums is what became of the jobs of a name.
type SeenSums struct{ Done, Failed, Dead, Run, Waited int64 }

// SeenFinding is what the doctor found.
type SeenFinding struct {
	Check, ID, Queue, Text string
	Repaired               bool
}
