package browsertest

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui"
)

// deed is something that an operator does by hand: what is there before, the way to it, and what Redis has afterwards.
type deed struct {
	before func(s *site)
	do     func(p *tab, s *site)
	after  func(t *testing.T, s *site)
}

// TestEveryActionDoesWhatItSays presses every kind of button that the dashboard has.
func TestEveryActionDoesWhatItSays(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	done := map[string]bool{}
	for name, d := range deeds() {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, siteOptions{})
			if d.before != nil {
				d.before(s)
			}
			p := b.open(t, s)
			d.do(p, s)
			d.after(t, s)
			assert.Empty(t, p.examine("after-"+strings.ReplaceAll(name, " ", "-")))
			for _, route := range s.visited() {
				done[route] = true
			}
		})
	}
	for _, route := range webui.Routes() {
		if route.Acts() && !strings.HasPrefix(route.Path, "/api/") && route.Path != "/stop" { // see long_test.go
			assert.True(t, done[http.MethodPost+" "+route.Path],
				"no browser has pressed a button for %s: give it a deed", route.Path)
		}
	}
}

func deeds() map[string]deed {
	all := jobDeeds()
	for _, more := range []map[string]deed{manyDeeds(), flowDeeds(), queueDeeds(), keyDeeds(), workerDeeds(),
		scheduleDeeds(), alertDeeds(), longDeeds()} {
		maps.Copy(all, more)
	}
	return all
}

// onJob presses a button of the page of job "a".
func onJob(action, button string, fields ...string) func(*tab, *site) {
	return func(p *tab, _ *site) {
		p.visit("/job?id=a")
		p.submit(action, button, fields...)
	}
}

// is wants job "a" in a state.
func is(want work.State) func(*testing.T, *site) {
	return func(t *testing.T, s *site) { assert.Equal(t, want, s.state("a")) }
}

func queued(s *site)    { s.enqueue("first", "report", 1); s.enqueue("a", "report", 2) }
func scheduled(s *site) { s.schedule("a", "report") }
func stalled(s *site)   { scheduled(s); require.NoError(s.t, s.inspector.Stall(s.ctx(), "a")) }

// dead leaves the queue paused, so that a retry can be seen.
func dead(s *site) {
	s.pool()
	s.enqueue("a", "charge", "4111")
	s.until("the job dies", func() bool { return s.state("a") == work.StateDead })
	s.until("its error is counted", func() bool {
		groups, err := s.inspector.Errors(s.ctx(), "charge")
		return err == nil && len(groups) == 1
	})
	require.NoError(s.t, s.inspector.PauseQueue(s.ctx(), "charge"))
}

// mailed leaves a job that has ended, and its queue paused.
func mailed(s *site) {
	s.pool()
	_, err := s.enq.With(work.ID("a"), work.Retention(time.Hour)).Enqueue(s.ctx(), "mail", "ada", "hello")
	require.NoError(s.t, err)
	s.until("the job has ended", func() bool { return s.state("a") == work.StateSucceeded })
	require.NoError(s.t, s.inspector.PauseQueue(s.ctx(), "mail"))
}

// waitsForApproval leaves a job that waits for a message.
func waitsForApproval(s *site) {
	s.pool()
	_, err := s.enq.With(work.ID("a"), work.Retention(time.Hour)).Enqueue(s.ctx(), "refund")
	require.NoError(s.t, err)
	s.until("the job waits", func() bool { return s.state("a") == work.StateScheduled })
}

func jobDeeds() map[string]deed {
	return map[string]deed{
		"retry a job":  {dead, onJob("job-retry?id=a", "Retry now"), is(work.StateQueued)},
		"retry afresh": {dead, onJob("job-retry?id=a&fresh=1", "Retry with fresh attempts"), is(work.StateQueued)},
		"run a job":    {scheduled, onJob("job-run?id=a", "Run now"), is(work.StateQueued)},
		"to the front": {queued, onJob("job-front?id=a", "Move to front"), func(t *testing.T, s *site) {
			page, err := s.inspector.Page(s.ctx(), inspect.PageOptions{State: work.StateQueued, Name: "report"})
			require.NoError(t, err)
			assert.Equal(t, "a", page.Jobs[0].ID)
		}},
		"put aside":  {queued, onJob("job-stall?id=a", "Put aside"), is(work.StateStalled)},
		"resume":     {stalled, onJob("job-resume?id=a", "Resume"), is(work.StateQueued)},
		"cancel":     {queued, onJob("job-cancel?id=a", "Cancel"), is(work.StateCancelled)},
		"delete":     {queued, onJob("job-delete?id=a", "Delete"), is("")},
		"reschedule": {scheduled, onJob("job-reschedule?id=a", "Reschedule", "at", "2041-02-03T04:05:06"), dueIn2041},
		"enqueue again": {mailed, onJob("job-again?id=a", "Enqueue again"), func(t *testing.T, s *site) {
			again := s.job(s.job("a").AgainAs)
			require.NotNil(t, again)
			assert.Equal(t, work.StateQueued, again.State)
			assert.Equal(t, "a", again.AgainOf)
		}},
		"send a message": {waitsForApproval, func(p *tab, _ *site) {
			p.visit("/job?id=a")
			assert.Empty(p.t, p.examine("job-that-waits"))
			p.submit("job-send?id=a", "Send", "value", `{"by": "ann"}`)
		},
			func(t *testing.T, s *site) {
				s.until("the job has got it", func() bool { return s.state("a") == work.StateSucceeded })
				assert.JSONEq(t, `"ann"`, string(s.job("a").Result))
			}},
		"change args": {queued, onJob("job-args?id=a", "Change args", "args", `[12345678901234567890, "<b>"]`),
			func(t *testing.T, s *site) {
				assert.JSONEq(t, `[12345678901234567890,"<b>"]`, string(s.job("a").Args))
				assert.Contains(t, string(s.job("a").Args), "12345678901234567890")
			}},
	}
}

func dueIn2041(t *testing.T, s *site) {
	assert.Equal(t, time.Date(2041, 2, 3, 4, 5, 6, 0, time.UTC), s.job("a").RunAt.UTC())
}

// lame takes a job out of its queue behind everybody's back.
func lame(s *site) {
	queued(s)
	conn, err := redis.DialURL(s.dsn)
	require.NoError(s.t, err)
	defer conn.Close() //lint:ignore errcheck nothing is lost
	n, err := redis.Int(conn.Do("LREM", "{"+s.namespace+"}:queue:report", 0, "a"))
	require.NoError(s.t, err)
	require.Equal(s.t, 1, n)
}

// manyDeeds are those on jobs of a list.
func manyDeeds() map[string]deed {
	list := "jobs-act?back=" + url.QueryEscape("jobs?name=report&state=queued")
	tick := func(p *tab, ids ...string) {
		p.visit("/jobs?state=queued&name=report")
		for _, id := range ids {
			p.run(chromedp.Click(`td.tick input[value="` + id + `"]`))
		}
	}
	return map[string]deed{
		"those that are ticked": {queued, func(p *tab, _ *site) {
			tick(p, "a")
			p.submit(list, "stall")
		}, func(t *testing.T, s *site) {
			assert.Equal(t, work.StateStalled, s.state("a"))
			assert.Equal(t, work.StateQueued, s.state("first"))
		}},
		"all that are ticked": {queued, func(p *tab, s *site) {
			tick(p)
			p.run(chromedp.Click(`[data-tick-all]`))
			p.submit(list, "delete")
			assert.Equal(p.t, work.StateQueued, s.state("a"), "it asks first")
			assert.Empty(p.t, p.examine("asks-first"))
			p.submit(list, "Delete 2")
		}, func(t *testing.T, s *site) {
			assert.Empty(t, s.state("a"))
			assert.Empty(t, s.state("first"))
		}},
		"enqueue a job": {func(s *site) { s.enqueue("first", "report") }, func(p *tab, _ *site) {
			p.visit("/jobs?state=queued&name=report")
			p.press(`.summary a[href^=new-job]`)
			p.submit("enqueue", "Enqueue", "id", "a", "args", `["ann"]`, "in", "1h")
			assert.Equal(p.t, prefix+"/job", p.path(), "it leads to the job")
		}, is(work.StateScheduled)},
		"all that match": {queued, func(p *tab, s *site) {
			s.enqueue("other", "mail")
			p.visit("/jobs?state=queued&name=report")
			p.press(`.bulk a`)
			p.submit("bulk?action=stall&name=report&state=queued", "Put aside…")
			assert.Equal(p.t, work.StateQueued, s.state("a"), "that was a dry run")
			assert.Contains(p.t, ask[string](p, `() => document.querySelector(".said").innerText`), "2 of 2 jobs match")
			assert.Empty(p.t, p.examine("bulk-dry-run"))
			p.submit("bulk?action=stall&name=report&state=queued&sure=1", "")
		}, func(t *testing.T, s *site) {
			assert.Equal(t, work.StateStalled, s.state("a"))
			assert.Equal(t, work.StateStalled, s.state("first"))
			assert.Equal(t, work.StateQueued, s.state("other"))
		}},
		"a group of errors": {dead, func(p *tab, _ *site) {
			p.visit("/errors")
			p.submit(ask[string](p, `() => [...document.forms].map(f => f.getAttribute("action")).
				find(a => a?.startsWith("bulk") && a.includes("state=dead"))`), "Retry the dead…")
			p.submit(ask[string](p, `() => [...document.forms].map(f => f.getAttribute("action")).
				find(a => a?.includes("sure=1"))`), "")
		}, is(work.StateQueued)},
	}
}

// keyDeeds are about key "north" of a queue.
func keyDeeds() map[string]deed {
	waits := func(s *site) {
		_, err := s.enq.With(work.Key("north")).Enqueue(s.ctx(), "report", 1)
		require.NoError(s.t, err)
	}
	onKey := func(action, button string, fields ...string) func(*tab, *site) {
		return func(p *tab, _ *site) {
			p.visit("/keys?name=report")
			p.submit(action+"?name=report&key=north", button, fields...)
		}
	}
	has := func(stopped bool, want work.Limit) func(*testing.T, *site) {
		return func(t *testing.T, s *site) {
			page, err := s.inspector.Keys(s.ctx(), inspect.KeysOptions{Name: "report"})
			require.NoError(t, err)
			require.Len(t, page.Keys, 1)
			assert.Equal(t, stopped, page.Keys[0].Stopped)
			assert.Equal(t, want, page.Keys[0].Limit)
		}
	}
	return map[string]deed{
		"limit a key": {waits, onKey("key-limit", "Set limit", "concurrent", "2", "rate", "60", "per", "1m"),
			has(false, work.Limit{Concurrent: 2, Rate: 60, Per: time.Minute, Burst: 1})},
		"stop a key": {waits, onKey("key-stop", "Stop"), has(true, work.Limit{})},
		"let a key go on": {func(s *site) {
			waits(s)
			require.NoError(s.t, s.inspector.StopKey(s.ctx(), "report", "north"))
		}, onKey("key-unlimit", "Take back"), has(false, work.Limit{})},
	}
}

func queueDeeds() map[string]deed {
	onQueue := func(action, button string, fields ...string) func(*tab, *site) {
		return func(p *tab, _ *site) {
			p.visit("/queue?name=report")
			p.submit(action+"?name=report&back="+url.QueryEscape("queue?name=report"), button, fields...)
		}
	}
	paused := func(want []string, wantAll bool) func(*testing.T, *site) {
		return func(t *testing.T, s *site) {
			names, all, err := s.inspector.Paused(s.ctx())
			require.NoError(t, err)
			assert.Equal(t, want, names)
			assert.Equal(t, wantAll, all)
		}
	}
	limited := func(want work.Limit) func(*testing.T, *site) {
		return func(t *testing.T, s *site) {
			q, err := s.inspector.Queue(s.ctx(), "report")
			require.NoError(t, err)
			if want == (work.Limit{}) {
				assert.Nil(t, q.Limit)
				return
			}
			require.NotNil(t, q.Limit)
			assert.Equal(t, want, q.Limit.Limit)
		}
	}
	onAll := func(action, button string) func(*tab, *site) {
		return func(p *tab, _ *site) {
			p.visit("/queues")
			p.submit(action+"?back=queues", button)
		}
	}
	return map[string]deed{
		"pause a queue": {queued, onQueue("queue-pause", "Pause"), paused([]string{"report"}, false)},
		"resume a queue": {func(s *site) {
			queued(s)
			require.NoError(s.t, s.inspector.PauseQueue(s.ctx(), "report", "mail"))
		},
			onQueue("queue-resume", "Resume"), paused([]string{"mail"}, false)},
		"pause all queues": {queued, onAll("queues-pause", "Pause all queues"), paused(nil, true)},
		"resume all queues": {func(s *site) { queued(s); require.NoError(s.t, s.inspector.PauseAll(s.ctx())) },
			onAll("queues-resume", "Resume all queues"), paused(nil, false)},
		"limit a queue": {queued, onQueue("queue-limit", "Set limit", "concurrent", "3", "rate", "60", "per", "1m",
			"burst", "5"),
			limited(work.Limit{Concurrent: 3, Rate: 60, Per: time.Minute, Burst: 5})},
		"take back a limit": {func(s *site) {
			queued(s)
			require.NoError(s.t, s.inspector.SetLimit(s.ctx(), "report", work.Limit{Concurrent: 3}))
		}, onQueue("queue-unlimit", "Take back"), limited(work.Limit{})},
		"destroy a queue": {func(s *site) { queued(s); s.schedule("later", "report") },
			onQueue("queue-destroy", "Destroy"), func(t *testing.T, s *site) {
				for _, id := range []string{"first", "a", "later"} {
					assert.Empty(t, s.state(id))
				}
				_, err := s.inspector.Queue(s.ctx(), "report")
				assert.ErrorIs(t, err, inspect.ErrNoQueue)
			}},
		"purge a queue": {queued, onQueue("queue-purge", "Purge"), func(t *testing.T, s *site) {
			assert.Empty(t, s.state("a"))
			assert.Empty(t, s.state("first"))
		}},
	}
}

func workerDeeds() map[string]deed {
	onWorker := func(action, button string) func(*tab, *site) {
		return func(p *tab, s *site) {
			p.visit("/workers")
			p.submit(action+"?id="+url.QueryEscape(s.worker().ID)+"&back=workers", button)
		}
	}
	wanted := func(want string) func(*testing.T, *site) {
		return func(t *testing.T, s *site) { assert.Equal(t, want, s.worker().Wanted) }
	}
	pool := func(s *site) { s.pool() }
	return map[string]deed{
		"pause a worker": {pool, onWorker("worker-pause", "Pause"), wanted("pause")},
		"resume a worker": {func(s *site) {
			s.pool()
			require.NoError(s.t, s.inspector.PauseWorker(s.ctx(), s.worker().ID))
		},
			onWorker("worker-resume", "Resume"), wanted("")},
		"quiet a worker": {pool, onWorker("worker-quiet", "Quiet"), wanted("quiet")},
		"stop a worker": {pool, onWorker("worker-stop", "Stop"), func(t *testing.T, s *site) {
			s.until("the worker leaves", func() bool {
				workers, err := s.inspector.Workers(s.ctx())
				return err == nil && len(workers) == 0
			})
		}},
		"ping a worker": {pool, func(p *tab, s *site) {
			onWorker("worker-ping", "Ping")(p, s)
			assert.Contains(p.t, ask[string](p, `() => document.querySelector("[role=status]").innerText`),
				"answered within")
		}, wanted("")},
	}
}

func scheduleDeeds() map[string]deed {
	add := func(s *site) {
		require.NoError(s.t, s.inspector.AddSchedule(s.ctx(), "@every 24h", "report", work.PeriodicOptions{ID: "s"}))
	}
	on := func(action, button string) func(*tab, *site) {
		return func(p *tab, _ *site) {
			p.visit("/schedules")
			p.submit(action+"?id=s&back=schedules", button)
		}
	}
	only := func(check func(*testing.T, inspect.ScheduleInfo)) func(*testing.T, *site) {
		return func(t *testing.T, s *site) {
			all, err := s.inspector.Schedules(s.ctx())
			require.NoError(t, err)
			require.Len(t, all, 1)
			check(t, all[0])
		}
	}
	return map[string]deed{
		"add a schedule": {queued, func(p *tab, _ *site) {
			p.visit("/schedules")
			p.submit("schedule-add?back=schedules", "Add", "spec", "@every 1h", "name", "report", "args", `["orders"]`)
		}, only(func(t *testing.T, i inspect.ScheduleInfo) {
			assert.Equal(t, []string{"report", "report", "@every 1h"}, []string{i.ID, i.Name, i.Spec})
			assert.JSONEq(t, `["orders"]`, string(i.Args))
		})},
		"pause a schedule": {add, on("schedule-pause", "Pause"),
			only(func(t *testing.T, i inspect.ScheduleInfo) { assert.True(t, i.Paused) })},
		"resume a schedule": {func(s *site) { add(s); require.NoError(s.t, s.inspector.PauseSchedule(s.ctx(), "s")) },
			on("schedule-resume", "Resume"),
			only(func(t *testing.T, i inspect.ScheduleInfo) { assert.False(t, i.Paused) })},
		"run a schedule": {add, on("schedule-run", "Run now"), func(t *testing.T, s *site) {
			q, err := s.inspector.Queue(s.ctx(), "report")
			require.NoError(t, err)
			assert.Equal(t, 1, q.Waiting)
		}},
		"remove a schedule": {add, on("schedule-remove", "Remove"), func(t *testing.T, s *site) {
			all, err := s.inspector.Schedules(s.ctx())
			require.NoError(t, err)
			assert.Empty(t, all)
		}},
	}
}

func longDeeds() map[string]deed {
	forgotten := func(t *testing.T, s *site) {
		groups, err := s.inspector.Errors(s.ctx(), "")
		require.NoError(t, err)
		assert.Empty(t, groups)
	}
	examined := func(action, button string) func(*tab, *site) {
		return func(p *tab, _ *site) {
			p.visit("/redis")
			p.submit(action, button)
		}
	}
	said := func(p *tab, want string) {
		p.t.Helper()
		assert.Contains(p.t, ask[string](p, `() => document.querySelector(".said").innerText`), want)
	}
	return map[string]deed{
		"forget all errors": {dead, func(p *tab, _ *site) {
			p.visit("/errors")
			p.submit("errors-clear?all=1&back=errors", "Forget all counts")
		}, forgotten},
		"forget errors of one": {dead, func(p *tab, _ *site) {
			p.visit("/errors?name=charge")
			p.submit("errors-clear?name=charge&back="+url.QueryEscape("errors?name=charge"), "Forget these counts")
		}, forgotten},
		"examine": {scheduled, func(p *tab, s *site) {
			examined("doctor?back=redis", "Examine")(p, s)
			said(p, "Nothing is wrong.")
		}, is(work.StateScheduled)},
		"examine and mend": {lame, func(p *tab, s *site) {
			examined("doctor?back=redis&mend=1", "Examine and mend")(p, s)
			said(p, "finding")
		}, is(work.StateQueued)},
	}
}
