package webui

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// effect is one action: what is there before it, and what is to be seen of it afterwards, by id.
type effect struct {
	before func(k *kit)
	target string
	form   []string
	after  func(t *testing.T, k *kit)
	status int // 0 is a redirect with a notice
}

func queued(k *kit)    { k.enqueue("first", "mail", 1); k.enqueue("a", "mail", 2) }
func scheduled(k *kit) { k.schedule("a", "mail") }
func stalled(k *kit)   { scheduled(k); require.NoError(k.t, k.inspector.Stall(k.ctx(), "a")) }

func dead(k *kit) {
	k.pool()
	k.enqueue("a", "dies")
	k.until("the job dies", func() bool { return k.state("a") == work.StateDead })
	require.NoError(k.t, k.inspector.PauseQueue(k.ctx(), "dies"))
}

func periodic(k *kit) {
	require.NoError(k.t, k.inspector.AddSchedule(k.ctx(), "@every 24h", "report", work.PeriodicOptions{ID: "s"}))
}

func is(id string, want work.State) func(*testing.T, *kit) {
	return func(t *testing.T, k *kit) { assert.Equal(t, want, k.state(id)) }
}

func (k *kit) schedules() []inspect.ScheduleInfo {
	k.t.Helper()
	all, err := k.inspector.Schedules(k.ctx())
	require.NoError(k.t, err)
	return all
}

func (k *kit) paused() ([]string, bool) {
	k.t.Helper()
	names, all, err := k.inspector.Paused(k.ctx())
	require.NoError(k.t, err)
	return names, all
}

func (k *kit) worker() inspect.WorkerInfo {
	k.t.Helper()
	workers, err := k.inspector.Workers(k.ctx())
	require.NoError(k.t, err)
	require.Len(k.t, workers, 1)
	return workers[0]
}

func wanted(wish string) func(*testing.T, *kit) {
	return func(t *testing.T, k *kit) { assert.Equal(t, wish, k.worker().Wanted) }
}

func effects() map[string]effect {
	return map[string]effect{
		"/job-retry": {before: dead, target: "id=a", after: is("a", work.StateQueued)},
		"/job-again": {before: func(k *kit) {
			receipt, err := k.enq.With(work.ID("a"), work.Retention(time.Hour)).EnqueueIn(k.ctx(), "mail", time.Hour)
			require.NoError(k.t, err)
			_, err = k.inspector.Cancel(k.ctx(), receipt.ID)
			require.NoError(k.t, err)
		}, target: "id=a", after: func(t *testing.T, k *kit) {
			former, err := k.inspector.Job(k.ctx(), "a")
			require.NoError(t, err)
			assert.Equal(t, work.StateQueued, k.state(former.AgainAs))
		}},
		"/job-run": {before: scheduled, target: "id=a", after: is("a", work.StateQueued)},
		"/job-front": {before: queued, target: "id=a", after: func(t *testing.T, k *kit) {
			page, err := k.inspector.Page(k.ctx(), inspect.PageOptions{State: work.StateQueued, Name: "mail"})
			require.NoError(t, err)
			assert.Equal(t, "a", page.Jobs[0].ID)
		}},
		"/job-stall":  {before: queued, target: "id=a", after: is("a", work.StateStalled)},
		"/job-resume": {before: stalled, target: "id=a", after: is("a", work.StateQueued)},
		"/job-cancel": {before: queued, target: "id=a", after: is("a", work.StateCancelled)},
		"/job-delete": {before: queued, target: "id=a", after: func(t *testing.T, k *kit) {
			is("a", "")(t, k)
			is("first", work.StateQueued)(t, k)
		}},
		"/job-reschedule": {before: scheduled, target: "id=a", form: []string{"at", "2041-02-03T04:05"},
			after: func(t *testing.T, k *kit) {
				job, err := k.inspector.Job(k.ctx(), "a")
				require.NoError(t, err)
				assert.Equal(t, "2041-02-03 04:05", job.RunAt.UTC().Format("2006-01-02 15:04"))
			}},
		"/job-args": {before: queued, target: "id=a", form: []string{"args", `[12345678901234567890, "<b>"]`},
			after: func(t *testing.T, k *kit) {
				job, err := k.inspector.Job(k.ctx(), "a")
				require.NoError(t, err)
				var args []json.RawMessage
				require.NoError(t, json.Unmarshal(job.Args, &args))
				require.Len(t, args, 2)
				assert.Equal(t, "12345678901234567890", string(args[0]))
				assert.JSONEq(t, `"<b>"`, string(args[1]))
			}},
		"/job-send": {before: queued, target: "id=a", form: []string{"name", "<go>", "value", ` {"by": "ann"} `},
			after: func(t *testing.T, k *kit) {
				steps, err := k.inspector.Steps(k.ctx(), "a")
				require.NoError(t, err)
				require.Len(t, steps.Mailbox, 1)
				assert.Equal(t, "<go>", steps.Mailbox[0].Name)
				assert.JSONEq(t, `{"by":"ann"}`, string(steps.Mailbox[0].Value))
			}},
		"/jobs-act": {before: func(k *kit) { queued(k); k.enqueue("b", "mail") },
			form: []string{"action", "stall", "id", "a", "id", "b", "id", "gone"}, after: func(t *testing.T, k *kit) {
				is("a", work.StateStalled)(t, k)
				is("b", work.StateStalled)(t, k)
				is("first", work.StateQueued)(t, k)
				assert.Equal(t, OutcomePartly, k.entries()[0].Outcome)
			}},
		"/queue-pause": {target: "name=mail&force=true", after: func(t *testing.T, k *kit) {
			names, _ := k.paused()
			assert.Equal(t, []string{"mail"}, names)
		}},
		"/queue-resume": {before: func(k *kit) {
			require.NoError(k.t, k.inspector.PauseQueue(k.ctx(), "mail", "other"))
		}, target: "name=mail", after: func(t *testing.T, k *kit) {
			names, _ := k.paused()
			assert.Equal(t, []string{"other"}, names)
		}},
		"/queues-pause": {after: func(t *testing.T, k *kit) { _, all := k.paused(); assert.True(t, all) }},
		"/queues-resume": {before: func(k *kit) { require.NoError(k.t, k.inspector.PauseAll(k.ctx())) },
			after: func(t *testing.T, k *kit) {
				_, all := k.paused()
				assert.False(t, all)
			}},
		"/queue-limit": {target: "name=mail&force=true", form: []string{"concurrent", "3", "rate", "10", "per", "1m"},
			after: func(t *testing.T, k *kit) {
				limits, err := k.inspector.Limits(k.ctx())
				require.NoError(t, err)
				require.Len(t, limits, 1)
				assert.Equal(t, 3, limits[0].Limit.Concurrent)
				assert.Equal(t, 10, limits[0].Limit.Rate)
				assert.Equal(t, time.Minute, limits[0].Limit.Per)
			}},
		"/queue-unlimit": {before: func(k *kit) {
			require.NoError(k.t, k.inspector.SetLimit(k.ctx(), "mail", work.Limit{Concurrent: 1}))
		}, target: "name=mail", after: func(t *testing.T, k *kit) {
			limits, err := k.inspector.Limits(k.ctx())
			require.NoError(t, err)
			assert.Empty(t, limits)
		}},
		"/key-limit": {before: func(k *kit) { k.keyed("mail", "ann", 2) }, target: "name=mail&key=ann",
			form: []string{"concurrent", "3", "rate", "10", "per", "1m"}, after: func(t *testing.T, k *kit) {
				key := k.keys("mail")[0]
				assert.Equal(t, work.Limit{Concurrent: 3, Rate: 10, Per: time.Minute, Burst: 1}, key.Limit)
				assert.True(t, key.Operator)
			}},
		"/key-stop": {before: func(k *kit) { k.keyed("mail", "ann", 2) }, target: "name=mail&key=ann",
			after: func(t *testing.T, k *kit) { assert.True(t, k.keys("mail")[0].Stopped) }},
		"/key-unlimit": {before: func(k *kit) {
			k.keyed("mail", "ann", 2)
			require.NoError(k.t, k.inspector.StopKey(k.ctx(), "mail", "ann"))
		}, target: "name=mail&key=ann", after: func(t *testing.T, k *kit) {
			assert.False(t, k.keys("mail")[0].Stopped)
			assert.False(t, k.keys("mail")[0].Operator)
		}},
		"/alert-silence": {target: "rule=no-workers&for=8h", after: func(t *testing.T, k *kit) {
			_, silences, err := k.inspector.Incidents(k.ctx())
			require.NoError(t, err)
			require.Len(t, silences, 1)
			assert.Equal(t, []string{"no-workers", "ann"}, []string{silences[0].Rule, silences[0].By})
		}},
		"/alert-hear": {before: func(k *kit) {
			require.NoError(k.t, k.inspector.SilenceAlert(k.ctx(), "no-workers", time.Hour, "bob"))
		}, target: "rule=no-workers", after: func(t *testing.T, k *kit) {
			_, silences, err := k.inspector.Incidents(k.ctx())
			require.NoError(t, err)
			assert.Empty(t, silences)
		}},
		"/worker-ping": {before: func(k *kit) { k.pool() }, target: "id=@worker",
			after: func(t *testing.T, k *kit) { assert.Contains(t, k.entries()[0].Detail, "answered") }},
		"/worker-pause": {before: func(k *kit) { k.pool() }, target: "id=@worker", after: wanted("pause")},
		"/worker-resume": {before: func(k *kit) {
			k.pool()
			require.NoError(k.t, k.inspector.PauseWorker(k.ctx(), k.worker().ID))
		}, target: "id=@worker", after: wanted("")},
		"/worker-quiet": {before: func(k *kit) { k.pool() }, target: "id=@worker", after: wanted("quiet")},
		"/worker-stop": {before: func(k *kit) { k.pool() }, target: "id=@worker", after: func(t *testing.T, k *kit) {
			k.until("the worker leaves", func() bool {
				workers, err := k.inspector.Workers(k.ctx())
				return err == nil && len(workers) == 0
			})
			var stopped struct{ Workers []inspect.StoppedWorker }
			k.until("it is listed", func() bool {
				return json.Unmarshal([]byte(k.get("api/stopped-workers?limit=1").Text), &stopped) == nil &&
					len(stopped.Workers) == 1
			})
			assert.Equal(t, inspect.WorkerStoppedByOrder, stopped.Workers[0].Why)
			page := k.get("workers").Text
			assert.Contains(t, page, "Stopped lately")
			assert.Contains(t, page, `<tr id="`+stopped.Workers[0].ID+`"`)
			assert.Contains(t, page, inspect.WorkerStoppedByOrder)
		}},
		"/schedule-pause": {before: periodic, target: "id=s",
			after: func(t *testing.T, k *kit) { assert.True(t, k.schedules()[0].Paused) }},
		"/schedule-resume": {before: func(k *kit) {
			periodic(k)
			require.NoError(k.t, k.inspector.PauseSchedule(k.ctx(), "s"))
		}, target: "id=s",
			after: func(t *testing.T, k *kit) { assert.False(t, k.schedules()[0].Paused) }},
		"/schedule-run": {before: periodic, target: "id=s", after: func(t *testing.T, k *kit) {
			job := k.schedules()[0].LastJob
			assert.Equal(t, work.StateQueued, k.state(job))
			assert.Contains(t, k.entries()[0].Detail, job)
		}},
		"/schedule-remove": {before: periodic, target: "id=s",
			after: func(t *testing.T, k *kit) { assert.Empty(t, k.schedules()) }},
		"/bulk": {before: func(k *kit) { queued(k); k.enqueue("b", "other") },
			target: "state=queued&name=mail&action=delete&sure=1", status: http.StatusOK,
			after: func(t *testing.T, k *kit) {
				is("a", "")(t, k)
				is("first", "")(t, k)
				is("b", work.StateQueued)(t, k)
			}},
		"/queue-destroy": {before: func(k *kit) { queued(k); k.enqueue("b", "other"); k.schedule("c", "mail") },
			target: "name=mail&sure=1", status: http.StatusOK, after: func(t *testing.T, k *kit) {
				is("a", "")(t, k)
				is("c", "")(t, k)
				is("b", work.StateQueued)(t, k)
			}},
		"/queue-purge": {before: func(k *kit) { queued(k); k.enqueue("b", "other") }, target: "name=mail",
			status: http.StatusOK, after: func(t *testing.T, k *kit) {
				is("a", "")(t, k)
				is("b", work.StateQueued)(t, k)
			}},
		"/doctor": {before: queued, status: http.StatusOK,
			after: func(t *testing.T, k *kit) { assert.Equal(t, OutcomeDone, k.entries()[0].Outcome) }},
		"/errors-clear": {before: func(k *kit) {
			dead(k)
			k.until("the error is counted", func() bool {
				groups, err := k.inspector.Errors(k.ctx(), "")
				return err == nil && len(groups) == 1
			})
		}, target: "name=dies", after: func(t *testing.T, k *kit) {
			groups, err := k.inspector.Errors(k.ctx(), "")
			require.NoError(t, err)
			assert.Empty(t, groups)
		}},
	}
}

func TestEachActionDoesWhatItSays(t *testing.T) {
	t.Parallel()
	all := effects()
	maps.Copy(all, flowEffects())
	maps.Copy(all, addEffects())
	for _, route := range Routes() {
		if !route.Acts() || strings.HasPrefix(route.Path, "/api/") || route.Path == "/stop" {
			continue // TestALongActionBeginsWithItsPage stops one
		}
		e, known := all[route.Path]
		require.True(t, known, "%s has no test of its effect", route.Path)
		t.Run(strings.TrimPrefix(route.Path, "/"), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				if e.before != nil {
					e.before(k)
				}
				target := e.target
				if strings.Contains(target, "@worker") {
					target = "id=" + url.QueryEscape(k.worker().ID)
				}
				got := k.post(strings.TrimPrefix(route.Path, "/")+"?"+target, e.form...)
				assertSecure(t, got)
				if e.status == http.StatusOK {
					require.Equal(t, http.StatusOK, got.StatusCode)
				} else {
					require.Equal(t, http.StatusSeeOther, got.StatusCode, got.Text)
					there := k.get(strings.TrimPrefix(got.Header.Get("Location"), "./"))
					assert.Contains(t, there.Text, `class="notice`, "the next page says what was done")
				}
				k.mu.Lock()
				require.NotEmpty(t, k.audited)
				last := k.audited[len(k.audited)-1]
				k.mu.Unlock()
				assert.Equal(t, route.Path, last.Action)
				assert.Equal(t, "ann", last.Actor)
				assert.NotEmpty(t, last.Targets)
				assert.Contains(t, []Outcome{OutcomeDone, OutcomePartly}, last.Outcome)
				e.after(t, k)
			})
		})
	}
}

func TestAnActionThatCameTooLateSaysSoOnThePageOfTheJob(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		scheduled(k)
		got := k.post("job-retry?id=a")
		require.Equal(t, http.StatusSeeOther, got.StatusCode)
		assert.Contains(t, k.get(got.Header.Get("Location")).Text, "only one that is retrying or dead can be")
		assert.Equal(t, OutcomeFailed, k.entries()[0].Outcome)
		assert.Equal(t, http.StatusNotFound, k.post("job-retry?id=gone").StatusCode)
		assert.Equal(t, OutcomeFailed, k.entries()[0].Outcome)
	})
}

func TestABulkIsCountedBeforeItIsDone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		queued(k)
		k.enqueue("other", "other")
		got := k.post("bulk?state=queued&name=mail&action=stall")
		assert.Contains(t, got.Text, "2 of 2 jobs match.")
		assert.Contains(t, got.Text, "</html>")
		assert.Equal(t, work.StateQueued, k.state("a"), "nothing was done yet")
		forms := targets(actions, got.Text)
		require.Len(t, forms, 1)
		got = k.post(forms[0])
		assert.Contains(t, got.Text, "2 of 2 jobs that matched were put aside.")
		assert.Equal(t, work.StateStalled, k.state("a"))
		assert.Equal(t, work.StateQueued, k.state("other"))
		var outcomes []Outcome
		for _, entry := range k.entries() {
			outcomes = append(outcomes, entry.Outcome)
			assert.Equal(t, []string{"state queued, name mail"}, entry.Targets)
		}
		assert.Equal(t, []Outcome{OutcomeDone, OutcomeBegun, OutcomeDone}, outcomes)
	})
}

func TestAGroupOfErrorsIsRetried(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		dead(k)
		k.until("the error is counted", func() bool {
			groups, err := k.inspector.Errors(k.ctx(), "")
			return err == nil && len(groups) == 1
		})
		page := k.get("errors")
		assert.Contains(t, page.Text, "unexpected EOF")
		var group string
		for _, form := range targets(actions, page.Text) {
			if strings.Contains(form, "state=dead") {
				group = form
			}
		}
		require.NotEmpty(t, group)
		sure := targets(actions, k.post(group).Text)
		require.Len(t, sure, 1)
		k.post(sure[0])
		assert.Equal(t, work.StateQueued, k.state("a"))
	})
}

func TestANoticeCannotBeForged(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	k.schedule("a", "mail")
	location := k.post("job-stall?id=a").Header.Get("Location")
	assert.Contains(t, k.get(location).Text, "was put aside")
	u, err := url.Parse(location)
	require.NoError(t, err)
	_, signature, _ := strings.Cut(u.Query().Get("notice"), ".")
	forged := "eyJ0IjoiZm9yZ2VkIHdvcmRzIiwiYSI6IjIwOTktMDEtMDFUMDA6MDA6MDBaIn0" // {"t":"forged words",...}
	for _, notice := range []string{"forged+words", forged, forged + ".", forged + "." + signature} {
		assert.NotContains(t, k.get("job?id=a&notice="+notice).Text, "forged words")
	}
	other := newKit(t, redistest.Embedded(t))
	assert.NotContains(t, other.get("queues?"+u.RawQuery).Text, "was put aside",
		"each dashboard signs with a key of its own")
}

func TestAFormLeadsBackToOurPagesOnly(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	for back, want := range map[string]string{
		"jobs?state=dead": "jobs", "https://evil.example/": "queue", "//evil.example": "queue", "/queues": "queue",
		"javascript:alert(1)": "queue",
		"../queues":           "queue", "queue-purge": "queue", `\\evil.example`: "queue",
	} {
		t.Run(back, func(t *testing.T) {
			got := k.post("queue-pause?" + url.Values{"name": {"mail"}, "back": {back}, "force": {"true"}}.Encode())
			require.Equal(t, http.StatusSeeOther, got.StatusCode)
			u, err := url.Parse(got.Header.Get("Location"))
			require.NoError(t, err)
			assert.Equal(t, want, u.Path)
			assert.Empty(t, u.Host)
		})
	}
}

func TestAWorkerIsToldToStopAtOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for name, tell := range map[string]func(k *kit, id string) answer{
			"worker-stop":     func(k *kit, id string) answer { return k.post("worker-stop?now=1&id=" + id) },
			"api/worker-stop": func(k *kit, id string) answer { return k.call("POST", "worker-stop?now=1&id="+id, "") },
		} {
			t.Run(name, func(t *testing.T) {
				k := newAPI(t, s)
				driver, err := redisconn.Open(s.DSN())
				require.NoError(t, err)
				defer func() { require.NoError(t, driver.Close()) }()
				store := rdb.NewStore(driver, k.namespace)
				_, _, err = store.Worker("w1").Register(k.ctx(), rdb.Registration{Life: time.Minute, Epoch: "e"})
				require.NoError(t, err)
				assert.Less(t, tell(k, "w1").StatusCode, http.StatusBadRequest)
				profiles, err := store.ProfileOf(k.ctx(), []string{"w1"})
				require.NoError(t, err)
				assert.Equal(t, "1", profiles[0].Info["now"])
				assert.Contains(t, k.get("workers").Text, "Stop now", "it may be told again")
			})
		}
	})
}
