package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/resize"
)

// partitionsFlags are those of partitions alone.
type partitionsFlags struct {
	set            int
	dryRun, noWait bool
}

func newPartitionsCommand(a *cli.App) *cobra.Command {
	var f partitionsFlags
	cmd := &cobra.Command{
		Use:   "partitions",
		Short: "Show the partitions of a namespace, and change how many there are",
		Long: `partitions prints what there is in each partition. With --set it makes the namespace have so many, while
programs go on: it can be interrupted, and called again by anybody, and goes on with what it finds. While
a partition is away it waits, and says so. Jobs that wait in a partition that goes are worked off by its
workers: it waits for them too, unless --no-wait is given. docs/scale.md says what partitions give up.`,
		Example: `  work partitions
  work partitions --set 4 --dry-run
  work partitions --set 4`,
		Args: cli.AtMost(0, "no argument"),
		RunE: a.Runs(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			sets := cmd.Flags().Changed("set")
			switch {
			case sets && (f.set < 1 || f.set > partition.Max):
				return exit.Usagef("--set is %d: %w", f.set, resize.ErrNumber)
			case !sets && (f.dryRun || f.noWait):
				return exit.Usagef("--dry-run and --no-wait go with --set")
			}
			return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
				driver, err := redisconn.Open(a.Redis)
				if err != nil {
					return err
				}
				defer func() { _ = driver.Close() }()
				directory := partition.NewDirectory(driver, a.Namespace)
				if err := directory.Refresh(ctx); err != nil {
					return err
				}
				switch {
				case !sets:
					return showPartitions(ctx, a, i, directory)
				case f.dryRun:
					return foretell(a, directory, f.set)
				}
				return setPartitions(ctx, a, directory, f)
			})
		}),
	}
	flags := cmd.Flags()
	flags.IntVar(&f.set, "set", 0, "make it so many `partitions`, from 1 to 64")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only say what --set would move")
	flags.BoolVar(&f.noWait, "no-wait", false, "leave what waits in partitions that go to their workers")
	return cmd
}

// partitionsShown is what partitions prints.
type partitionsShown struct {
	Partitions []partitionShown `json:"partitions"`
	Version    int64            `json:"version"`           // of the newest map
	Wanted     int              `json:"wanted,omitempty"`  // how many there are to be, while that is under way
	Bound      []string         `json:"bound,omitempty"`   // names that live in one partition
	Binding    []string         `json:"binding,omitempty"` // names that are brought to one
}

type partitionShown struct {
	inspect.PartitionInfo
	Buckets int
}

// MarshalJSON writes the buckets beside what the inspector tells.
func (p partitionShown) MarshalJSON() ([]byte, error) {
	text, err := p.PartitionInfo.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(text[:len(text)-1], `,"buckets":%d}`, p.Buckets), nil
}

func showPartitions(ctx context.Context, a *cli.App, i *inspect.Inspector, directory *partition.Directory) error {
	infos, err := i.Partitions(ctx)
	if err != nil {
		return err
	}
	m := directory.Map()
	shown := partitionsShown{Version: m.Version, Wanted: m.Wanted, Bound: m.Bound, Binding: m.Binding}
	away := 0
	for _, info := range infos {
		one := partitionShown{PartitionInfo: info}
		for bucket := range partition.Buckets {
			if m.At(bucket) == info.Partition {
				one.Buckets++
			}
		}
		if info.Problem != nil {
			away++
		}
		shown.Partitions = append(shown.Partitions, one)
	}
	if err := a.Console().Show(shown, shown.lines); err != nil {
		return err
	}
	if away > 0 {
		return fmt.Errorf("%d of %d partitions cannot be asked", away, len(infos))
	}
	return nil
}

func (p partitionsShown) lines(c *console.Console) []string {
	t := console.NewTable(console.Right("PARTITION"), console.Left("STATE"), console.Right("BUCKETS"),
		console.Right("LEAVING"), console.Right("QUEUED"), console.Right("RUNNING"), console.Right("SCHEDULED"),
		console.Right("RETRYING"), console.Right("DEAD"), console.Prose("PROBLEM"))
	for _, one := range p.Partitions {
		problem := ""
		switch {
		case one.Problem != nil:
			problem = one.Problem.Error()
		case one.Version != p.Version:
			problem = fmt.Sprintf("it knows version %d of the map, others %d", one.Version, p.Version)
		}
		n := one.Counts
		t.Add(human.Number(one.Partition), one.State, human.Number(one.Buckets), human.Number(one.Leaving),
			human.Number(n.Queued), human.Number(n.Running), human.Number(n.Scheduled), human.Number(n.Retrying),
			human.Number(n.Dead), human.Visible(problem))
	}
	lines := t.Render(c)
	if p.Wanted > 0 {
		lines = append(lines, fmt.Sprintf(
			"under way: %d partitions are wanted; workers go on with it, and so does work partitions --set %d",
			p.Wanted, p.Wanted))
	}
	for what, names := range map[string][]string{"in one partition each": p.Bound, "on their way to one": p.Binding} {
		if len(names) > 0 {
			lines = append(lines, fmt.Sprintf("jobs that live %s: %s", what, human.Visible(strings.Join(names, ", "))))
		}
	}
	return lines
}

// foretold is what --dry-run prints.
type foretold struct {
	Wanted  int         `json:"wanted"`
	Open    int         `json:"open"`    // how many are open now
	Buckets int         `json:"buckets"` // that would be moved, of 256
	From    map[int]int `json:"from"`    // partition -> buckets that leave it
	Closing []int       `json:"closing"` // partitions that go
}

func foretell(a *cli.App, directory *partition.Directory, n int) error {
	m := directory.Map()
	next := resize.Wanted(m, n)
	told := foretold{Wanted: n, Open: len(m.Open()), From: map[int]int{}, Closing: next.In(partition.Draining)}
	for bucket, to := range resize.Plan(next) {
		if from := m.At(bucket); from != to {
			told.Buckets++
			told.From[from]++
		}
	}
	text := fmt.Sprintf("%d partitions instead of %d: %d of %d buckets would be moved", n, told.Open, told.Buckets,
		partition.Buckets)
	if len(told.Closing) > 0 {
		text += fmt.Sprintf(", and partitions %s emptied and closed", strings.Trim(fmt.Sprint(told.Closing), "[]"))
	}
	return a.Console().Tell(told, text)
}

// resized is what --set prints in the end.
type resized struct {
	Action string `json:"action"`
	Wanted int    `json:"wanted"`
	Open   []int  `json:"open"`
	Moved  int    `json:"moved"` // jobs
	Left   int    `json:"left"`  // jobs in partitions that go
}

func setPartitions(ctx context.Context, a *cli.App, directory *partition.Directory, f partitionsFlags) error {
	bar := console.NewProgress(a.Console(), "buckets", partition.Buckets)
	var last resize.Progress
	waiting := ""
	tell := func(p resize.Progress) {
		if p.Buckets > 0 {
			bar.Set(partition.Buckets - p.Buckets + p.Moved)
		}
		now := ""
		switch {
		case p.Waiting != nil:
			now = "waiting: " + p.Waiting.Error()
		case p.Left > 0:
			now = fmt.Sprintf("waiting until the workers have worked off %s in partitions that go",
				human.Counted(p.Left, "job"))
		}
		if now != waiting && now != "" {
			bar.Say(human.Visible(now))
		}
		last, waiting = p, now
	}
	change := resize.To
	if f.noWait {
		change = resize.Begin
	}
	err := change(ctx, directory, f.set, tell)
	bar.Clear()
	if err != nil {
		return err
	}
	done := resized{Action: "set", Wanted: f.set, Open: directory.Map().Open(), Moved: last.Jobs, Left: last.Left}
	text := fmt.Sprintf("%s, %s moved", human.Counted(f.set, "partition"), human.Counted(last.Jobs, "job"))
	if last.Left > 0 {
		text += fmt.Sprintf("; %s left in partitions that go", human.Counted(last.Left, "job"))
	}
	return a.Console().Tell(done, text)
}
