package inspect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// control is something that is done in several partitions while the second one is down.
type control struct {
	do func(ctx context.Context, i *inspect.Inspector) error
	// what it has come to in a partition; nil where it is another read that shows it
	done func(ctx context.Context, i *inspect.Inspector) (any, error)
	want any // there
}

// everywhere are the controls of all partitions, in the order in which they can be tried.
var everywhere = []struct {
	name string
	control
}{
	{"PauseQueue", control{func(ctx context.Context, i *inspect.Inspector) error { return i.PauseQueue(ctx, "a", "b") },
		pausedNames, "[a b]"}},
	{"ResumeQueue", control{func(ctx context.Context, i *inspect.Inspector) error { return i.ResumeQueue(ctx, "b") },
		pausedNames, "[a]"}},
	{"PauseAll", control{func(ctx context.Context, i *inspect.Inspector) error { return i.PauseAll(ctx) },
		func(ctx context.Context, i *inspect.Inspector) (any, error) {
			_, all, err := i.Paused(ctx)
			return all, err
		},
		true}},
	{"ResumeAll", control{func(ctx context.Context, i *inspect.Inspector) error { return i.ResumeAll(ctx) },
		func(ctx context.Context, i *inspect.Inspector) (any, error) {
			_, all, err := i.Paused(ctx)
			return all, err
		},
		false}},
	{"Bulk", control{func(ctx context.Context, i *inspect.Inspector) error {
		report, err := i.Bulk(ctx, inspect.Selection{State: work.StateDead}, inspect.ActionDelete,
			inspect.BulkOptions{})
		if report.Complete || report.Done != 6 {
			return fmt.Errorf("%+v", report)
		}
		return err
	}, func(ctx context.Context, i *inspect.Inspector) (any, error) {
		c, err := i.Counts(ctx)
		return c.Dead, err
	}, 0}},
	{"StopKey", control{func(ctx context.Context, i *inspect.Inspector) error {
		return i.StopKey(ctx, "by key", "shared")
	}, sharedKey, "stopped true, at once 0"}},
	{"SetKeyLimit", control{func(ctx context.Context, i *inspect.Inspector) error {
		return i.SetKeyLimit(ctx, "by key", "shared", work.Limit{Concurrent: 7})
	}, sharedKey, "stopped false, at once 7"}},
	{"ResetKeyLimit", control{func(ctx context.Context, i *inspect.Inspector) error {
		return i.ResetKeyLimit(ctx, "by key", "shared")
	}, sharedKey, "stopped false, at once 0"}},
	{"DestroyQueueAt", control{func(ctx context.Context, i *inspect.Inspector) error {
		_, err := i.KeepQueue(ctx, "a")
		return err
	}, nil, nil}},
	{"KeepQueue", control{func(ctx context.Context, i *inspect.Inspector) error {
		_, err := i.KeepQueue(ctx, "a")
		return err
	}, nil, nil}},
	{"Purge", control{func(ctx context.Context, i *inspect.Inspector) error {
		removed, err := i.Purge(ctx, "a", inspect.PurgeOptions{})
		if removed != 2*2+1+3 {
			return fmt.Errorf("%d", removed)
		}
		return err
	}, func(ctx context.Context, i *inspect.Inspector) (any, error) {
		q, err := i.Queue(ctx, "a")
		return q.Waiting, err
	}, 0}},
	{"ClearErrors", control{func(ctx context.Context, i *inspect.Inspector) error { return i.ClearErrors(ctx, "") },
		func(ctx context.Context, i *inspect.Inspector) (any, error) {
			groups, err := i.Errors(ctx, "")
			return len(groups), err
		}, 0}},
	{"DestroyQueue", control{func(ctx context.Context, i *inspect.Inspector) error {
		report, err := i.DestroyQueue(ctx, "a", inspect.DestroyOptions{})
		if report.Forgotten || report.Sum() == 0 {
			return fmt.Errorf("%+v", report)
		}
		return err
	}, func(ctx context.Context, i *inspect.Inspector) (any, error) {
		_, err := i.Queue(ctx, "a")
		return err != nil, nil
	}, true}},
}

// sharedKey is what holds for a key of which each partition has jobs.
func sharedKey(ctx context.Context, i *inspect.Inspector) (any, error) {
	page, err := i.Keys(ctx, inspect.KeysOptions{Name: "by key"})
	for _, key := range page.Keys {
		if key.Key == "shared" {
			return fmt.Sprintf("stopped %t, at once %d", key.Stopped, key.Limit.Concurrent), err
		}
	}
	return "no such key", err
}

func pausedNames(ctx context.Context, i *inspect.Inspector) (any, error) {
	names, _, err := i.Paused(ctx)
	names = slices.DeleteFunc(names, func(name string) bool { return len(name) > 1 })
	return fmt.Sprint(names), err
}

func TestControlsOfPartitionsAreDoneInThoseThatAnswer(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, full)
		ctx := d.LongCtx()
		d.outages.Set(1, partitiontest.Down)
		for _, c := range everywhere {
			d.missing(c.do(ctx, d.i), c.name)
			for _, n := range []int{0, 2} {
				if c.done != nil {
					done, err := c.done(ctx, d.alone(n))
					require.NoError(t, err, c.name)
					assert.Equal(t, c.want, done, "%s in partition %d", c.name, n)
				}
			}
		}
		d.outages.Up(1)
		left, err := d.alone(1).Queue(ctx, "a")
		require.NoError(t, err)
		assert.Equal(t, 4, left.Waiting, "nothing was done where nobody answered")
		for _, c := range everywhere {
			if c.name == "PauseAll" || c.name == "ResumeAll" {
				require.NoError(t, c.do(ctx, d.i), "%s, again", c.name)
			}
		}
	})
}

// elsewhere are the methods that are about one thing, which is not in the partition that is down, with their tests.
var elsewhere = []string{
	"Job", "Jobs", "Stall", "Delete", "Resume", "RunNow", "RetryNow", "Reschedule", "MoveToFront", "ChangeArgs",
	"EnqueueAgain", "Log", "FollowLog", "FullArgs", "Worker", "PauseWorker", "ResumeWorker", "QuietWorker",
	"StopWorker", "StopWorkerNow", "Ping", "Ask", "AddSchedule", "ChangeSchedule", "PauseSchedule",
	"ResumeSchedule", "RemoveSchedule", "RunScheduleNow", "SetLimit", "ResetLimit", "CheckNames", "Names",
	"WaitForWorkers", "PauseAndWait", "Erase", "Paused", "Server", "Servers", "ServerCPU", "Topology",
	"Partitions", "Steps", "Send", "ForgetSteps", "Flow", "FlowMembers", "FlowMember", "FlowFollowers",
	"FlowGraph", "CancelFlow", "PauseFlow", "ResumeFlow", "RetryFlow", "DeleteFlow", "NoteAudit", "Audit",
	"Incidents", "SilenceAlert",
}

// notAsking are those that ask no partition themselves.
var notAsking = []string{"Close", "Cancel", "Divided"}

func TestEachMethodIsTriedWhileAPartitionIsDown(t *testing.T) {
	t.Parallel()
	tried := slices.Concat(elsewhere, notAsking)
	for name := range summed {
		tried = append(tried, name)
	}
	for _, c := range everywhere {
		tried = append(tried, c.name)
	}
	of := reflect.TypeFor[*inspect.Inspector]()
	for n := range of.NumMethod() {
		assert.Contains(t, tried, of.Method(n).Name)
	}
}

func TestControlsOfOneThingGoWhereItIs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		var queued, dead, over [parts]string
		d := newDivided(t, s, func(n int, k *kit) {
			full(n, k)
			queued[n] = k.standing(work.StateQueued, "q")
			dead[n] = k.standing(work.StateDead, "q")
			page, err := k.hands().Page(k.Ctx(), inspect.PageOptions{State: work.StateDiscarded, Name: "a"})
			require.NoError(k.T, err)
			over[n] = page.Jobs[0].ID
		})
		ctx := d.Ctx()
		d.outages.Set(1, partitiontest.Down)
		i, id := d.i, queued[2]
		ok := func(err error) { t.Helper(); require.NoError(t, err) }
		ok(i.MoveToFront(ctx, id))
		ok(i.ChangeArgs(ctx, id, "other"))
		args, err := i.FullArgs(ctx, id)
		ok(err)
		assert.JSONEq(t, `["other"]`, string(args))
		ok(i.Send(ctx, id, "approval", true))
		steps, err := i.Steps(ctx, id)
		ok(err)
		assert.Empty(t, steps.Done)
		forgotten, err := i.ForgetSteps(ctx, id)
		ok(err)
		assert.Zero(t, forgotten)
		of, err := i.Flow(ctx, "flow2")
		ok(err)
		assert.Equal(t, 2, of.Partition)
		members, err := i.FlowMembers(ctx, inspect.FlowMembersOptions{Flow: "flow2"})
		ok(err)
		assert.Len(t, members.Members, 2)
		edges, err := i.FlowFollowers(ctx, "flow2", "first", nil)
		ok(err)
		assert.Len(t, edges, 1)
		member, err := i.FlowMember(ctx, "flow2", "second")
		ok(err)
		assert.Equal(t, inspect.MemberWaits, member.State)
		graph, err := i.FlowGraph(ctx, "flow2")
		ok(err)
		assert.Len(t, graph.Nodes, 2)
		_, err = i.Flow(ctx, "flow1")
		d.missing(err)
		d.missing(i.DeleteFlow(ctx, "flow1"))
		ok(i.Stall(ctx, id))
		ok(i.Resume(ctx, id))
		ok(i.RetryNow(ctx, dead[2]))
		ok(i.Delete(ctx, id))
		again, err := i.EnqueueAgain(ctx, over[2])
		ok(err)
		job, err := i.Job(ctx, again.ID)
		ok(err)
		assert.Equal(t, []any{2, over[2]}, []any{job.Partition, job.AgainOf})
		log, err := i.Log(ctx, dead[0], 0)
		ok(err)
		assert.Empty(t, log)
		for _, err := range i.FollowLog(ctx, over[0]) { // it has ended
			_ = err // what one that is away says of it
		}

		worker, err := i.Worker(ctx, "hand2")
		ok(err)
		assert.Equal(t, 2, worker.Partition)
		_, err = i.Worker(ctx, "hand1")
		d.missing(err)
		_, err = i.Ping(ctx, "hand1")
		d.missing(err)
		var answers []inspect.Answer
		late := func() bool { return len(answers) == 0 || errors.Is(answers[0].Err, context.DeadlineExceeded) }
		for given := 50 * time.Millisecond; late(); given *= 2 { // a busy machine needs more
			brief, cancel := context.WithTimeout(ctx, given)
			answers, err = i.Ask(brief, []string{"hand1", "hand2"}, "echo", 1)
			cancel()
			require.NoError(t, ctx.Err())
		}
		d.missing(err)
		d.missing(answers[0].Err)
		require.ErrorIs(t, answers[1].Err, context.DeadlineExceeded, "it was asked, and has no program")
		_, err = i.WaitForWorkers(ctx, 1)
		d.missing(err)

		ok(i.PauseSchedule(ctx, "each2"))
		ok(i.ResumeSchedule(ctx, "each2"))
		ok(i.ChangeSchedule(ctx, "@every 2h", "s", work.PeriodicOptions{ID: "each2"}))
		run, err := i.RunScheduleNow(ctx, "each0")
		ok(err)
		job, err = i.Job(ctx, run.ID)
		ok(err)
		assert.Zero(t, job.Partition)
		ok(i.RemoveSchedule(ctx, "each2"))
		d.missing(i.RemoveSchedule(ctx, "each1"))
		d.missing(i.AddSchedule(ctx, "@every 1h", "s", work.PeriodicOptions{ID: "new"}))

		ok(i.CheckNames(ctx, "a"))
		d.missing(i.CheckNames(ctx, "aa"))
		names, err := i.Names(ctx)
		d.missing(err)
		assert.Contains(t, names, "a", "what the others know is told")
		d.missing(i.PauseAndWait(ctx, "a"))
		_, err = i.Server(ctx)
		ok(err)

		d.outages.Up(1)
		ok(i.AddSchedule(ctx, "@every 1h", "s", work.PeriodicOptions{ID: "new"}))
		require.ErrorIs(t, i.AddSchedule(ctx, "@every 1h", "s", work.PeriodicOptions{ID: "each1"}),
			work.ErrScheduleExists)
		require.ErrorIs(t, i.RemoveSchedule(ctx, "each2"), work.ErrNoSchedule)
		workers, err := i.WaitForWorkers(ctx, 1)
		ok(err)
		assert.Equal(t, []string{"hand0", "hand1", "hand2"}, workers)
		var unknown *inspect.UnknownNameError
		require.ErrorAs(t, i.CheckNames(ctx, "only"), &unknown)
		assert.Contains(t, []string{"only1", "only2"}, unknown.Nearest)
		servers, err := i.Servers(ctx)
		ok(err)
		if len(servers) != parts { // the embedded one does not say who it is
			require.Len(t, servers, 1)
			assert.Equal(t, []int{0, 1, 2}, servers[0].Partitions)
		}
		_, err = i.Erase(ctx)
		require.ErrorIs(t, err, inspect.ErrServed)
		d.outages.Set(1, partitiontest.Down)
		for _, do := range []func(context.Context, string) error{i.PauseWorker, i.ResumeWorker, i.QuietWorker,
			i.StopWorker, i.StopWorkerNow} {
			ok(do(ctx, "hand2"))
			d.missing(do(ctx, "hand1"))
		}
	})
}

func TestErasePutsAnEndToAllPartitions(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, func(n int, k *kit) { k.standing(work.StateQueued, "a") })
		ctx := d.LongCtx()
		d.outages.Set(1, partitiontest.Down)
		_, err := d.i.Erase(ctx)
		d.missing(err)
		for _, part := range d.parts {
			assert.NotEmpty(t, part.Remains(""), "nothing was removed")
		}
		d.outages.Up(1)
		keys, err := d.i.Erase(ctx)
		require.NoError(t, err)
		assert.Greater(t, keys, 6)
		for _, part := range d.parts {
			assert.Empty(t, part.Remains(""))
		}
	})
}

func TestPartitionsTellOfEach(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, func(n int, k *kit) { k.crowdOf("x", work.StateQueued, n) })
		d.outages.Set(1, partitiontest.Down)
		infos, err := d.i.Partitions(d.Ctx())
		require.NoError(t, err)
		require.Len(t, infos, parts)
		for n, info := range infos {
			assert.Equal(t, []any{n, "open"}, []any{info.Partition, info.State})
		}
		assert.True(t, d.i.Divided(d.Ctx()))
		assert.False(t, d.alone(0).Divided(d.Ctx()))
		assert.Error(t, infos[1].Problem)
		assert.Equal(t, []any{int64(1), 2}, []any{infos[2].Version, infos[2].Counts.Queued})
		text, err := json.Marshal(infos[1])
		require.NoError(t, err)
		assert.Contains(t, string(text), `"problem":`)
		assert.NoError(t, infos[0].Problem)

		infos, err = newKit(t, s).hands().Partitions(d.Ctx())
		require.NoError(t, err)
		assert.Len(t, infos, 1)
	})
}

func TestAControlByAnOlderMapGoesByTheNewerOneAtOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, func(n int, k *kit) {
			options := work.PeriodicOptions{ID: fmt.Sprint(n)}
			require.NoError(t, k.hands().AddSchedule(k.Ctx(), "@every 1h", "s", options))
		})
		ctx := d.Ctx()
		m := partitiontest.Divided(1, parts)
		for name, do := range map[string]func() error{
			"pause":    func() error { return d.i.PauseQueue(ctx, "a") },
			"schedule": func() error { return d.i.PauseSchedule(ctx, "1") },
			"run":      func() error { _, err := d.i.RunScheduleNow(ctx, "2"); return err },
		} {
			_, err := d.i.Counts(ctx) // it knows the map now, and reads it no more for a second
			require.NoError(t, err)
			m.Version++
			partitiontest.WriteMap(t, d.outages.Driver, d.Namespace, m)
			require.NoError(t, do(), name)
		}

		m = m.Clone()
		m.Version++
		m.Moving[partition.BucketOfSchedule("new")] = 1
		partitiontest.WriteMap(t, d.outages.Driver, d.Namespace, m)
		require.NoError(t, d.i.PauseQueue(ctx, "b"))
		waiting, cancel := context.WithCancel(ctx)
		before, added := d.outages.Sent(0), make(chan error, 1)
		go func() { added <- d.i.AddSchedule(waiting, "@every 1h", "s", work.PeriodicOptions{ID: "new"}) }()
		d.Until("it looks for the map again and again", func() bool { return d.outages.Sent(0) > before+10 })
		cancel()
		err := pooltest.Receive(t, added)
		require.ErrorIs(t, err, context.Canceled)
		assert.ErrorContains(t, err, "being moved")
	})
}

// A purge that could not be done everywhere says so, and nobody completes it but who says it again.
func TestAPurgeIsSaidAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, func(n int, k *kit) { k.crowdOf(string(rune('a'+n)), work.StateQueued, 3) })
		d.outages.Set(1, partitiontest.Down)
		removed, err := d.i.Purge(d.Ctx(), "n", inspect.PurgeOptions{})
		assert.Equal(t, 6, removed)
		d.missing(err)
		var partial *inspect.PartialError
		require.ErrorAs(t, err, &partial)
		assert.False(t, partial.Later)
		for _, n := range []int{0, 2} {
			assert.Zero(t, d.parts[n].Do("EXISTS", "hints"))
		}
		d.outages.Up(1)
		removed, err = d.i.Purge(d.Ctx(), "n", inspect.PurgeOptions{})
		require.NoError(t, err)
		assert.Equal(t, 3, removed)
	})
}

// Workers with the same processors are paused together, those that can be asked.
func TestWorkersWithTheSameProcessorsArePausedTogether(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, func(n int, k *kit) {
			full(n, k)
			k.Do("HSET", fmt.Sprintf("worker:hand%d:info", n), "group", "g")
		})
		wanted := func() (all string) {
			for n := range parts {
				got := d.parts[n].Do("HGET", fmt.Sprintf("worker:hand%d:info", n), "wanted")
				all += fmt.Sprintf("%s;", got)
			}
			return all
		}
		d.outages.Set(1, partitiontest.Down)
		err := d.i.PauseWorker(d.Ctx(), "hand0")
		d.missing(err)
		assert.ErrorContains(t, err, "2 of 3")
		d.outages.Up(1)
		assert.Equal(t, "pause;%!s(<nil>);pause;", wanted())
		require.NoError(t, d.i.PauseWorker(d.Ctx(), "hand0"))
		assert.Equal(t, "pause;pause;pause;", wanted())
		require.NoError(t, d.i.ResumeWorker(d.Ctx(), "hand1"))
		assert.NotContains(t, wanted(), "pause")
		require.NoError(t, d.i.StopWorker(d.Ctx(), "hand2"))
		assert.Equal(t, "%!s(<nil>);%!s(<nil>);stop;", wanted(), "its pool stops its others")
	})
}
