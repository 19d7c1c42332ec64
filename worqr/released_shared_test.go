package worqr_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/worqr"
)

// shared is a queue q on which a released worker r and one of ours, w, work.
type shared struct {
	*site
	r released
	w *worqr.Client
}

// onShared runs each row on both Redis.
func onShared(t *testing.T, rows map[string]func(t *testing.T, s shared)) {
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				r := newReleased(s)
				r.startWorker("r", "q")
				row(t, shared{site: s, r: r, w: s.worker("q")})
			})
		})
	}
}

// unique answers whether ours may enqueue the unique task u.
func (s shared) unique() bool {
	s.t.Helper()
	put, err := s.w.EnqueueUnique(s.t.Context(), "q", []byte("u"))
	require.NoError(s.t, err)
	return put[0]
}

func TestOursFollowTheCommandsOfTheReleasedProgram(t *testing.T) {
	t.Parallel()
	onShared(t, map[string]func(t *testing.T, s shared){
		"enqueue unique": func(t *testing.T, s shared) {
			assert.True(t, s.r.enqueueUnique("q", "u", nil))
			assert.False(t, s.r.enqueueUnique("q", "u", nil), "it waits")
			require.NoError(t, s.start(s.w, "q").Finish(t.Context(), nil))
			assert.False(t, s.r.enqueueUnique("q", "u", nil), "their lock is not ours to free")
		},
		"enqueue unique, the lock taken meanwhile": func(t *testing.T, s shared) {
			other := newReleased(s.site)
			assert.False(t, s.r.enqueueUnique("q", "u", func() { assert.True(t, other.enqueueUnique("q", "u", nil)) }))
			assert.Equal(t, []string{"u"}, s.waiting("q"))
		},
		"dequeue of nothing": func(t *testing.T, s shared) {
			_, task := s.r.dequeue("r", "q", "0")
			assert.Empty(t, task)
			assert.Empty(t, s.keys("processes:*"))
			_, err := s.w.StartTask(t.Context(), "q")
			assert.ErrorIs(t, err, worqr.ErrEmpty)
		},
		"stop": func(t *testing.T, s shared) {
			s.enqueue("q", "a", "b")
			process, _ := s.r.dequeue("r", "q", "0")
			s.r.stop(process)
			assert.Equal(t, "b", string(s.start(s.w, "q").Task))
			assert.Equal(t, "a", string(s.start(s.w, "q").Task), "they put it at the back")
		},
		"reads": func(t *testing.T, s shared) {
			s.r.enqueue("q", "a", "b", "c")
			process, _ := s.r.dequeue("r", "q", "0")
			count, err := s.w.Count(t.Context(), "q")
			require.NoError(t, err)
			assert.Equal(t, s.r.count("q"), int64(count))
			next, err := s.w.Peek(t.Context(), "q")
			require.NoError(t, err)
			assert.Equal(t, s.r.peek("q"), string(next))
			var tasks []string
			for task, err := range s.w.Tasks(t.Context(), "q") {
				require.NoError(t, err)
				tasks = append([]string{string(task)}, tasks...)
			}
			assert.Equal(t, s.r.tasks("q"), tasks, "they list from the back")
			ours := s.start(s.w, "q")
			assert.ElementsMatch(t, []string{process, ours.ID}, append(s.r.matching("a"), s.r.matching("b")...))
			for task, want := range map[string]worqr.Holding{
				"a": {Process: process, Queue: "q", Task: []byte("a")},
				"b": {Process: ours.ID, Worker: s.w.Worker(), Queue: "q", Task: []byte("b")},
			} {
				matching, err := s.w.MatchingProcesses(t.Context(), "q", []byte(task))
				require.NoError(t, err)
				assert.Equal(t, []worqr.Holding{want}, matching)
			}
			queues, err := s.w.Queues(t.Context())
			require.NoError(t, err)
			assert.Equal(t, []string{"q"}, queues)
			assert.Len(t, s.r.queues(), 1, "they list those in which tasks wait")
		},
		"fail worker": func(t *testing.T, s shared) {
			s.enqueue("q", "a", "b")
			process, _ := s.r.dequeue("r", "q", "0")
			ours := s.start(s.w, "q")
			s.r.failWorker(s.w.Worker())
			assert.Equal(t, []string{"a"}, s.waiting("q"), "of their own worker, which lives")
			assert.False(t, s.exists("processes:"+process))
			assert.True(t, s.exists("processes:"+ours.ID))
		},
		"request work": func(t *testing.T, s shared) {
			s.enqueue("q", "a", "b")
			events := s.events(s.w)
			s.r.requestWork("q")
			assert.Equal(t, worqr.Work{Queue: "q", Count: 2}, await(t, events, always[worqr.Work]))
		},
		"cancel": func(t *testing.T, s shared) {
			s.enqueue("q", "a", "b", "a")
			p := s.start(s.w, "q")
			s.r.cancel("q", "a")
			<-p.Context().Done()
			assert.ErrorIs(t, p.Finish(t.Context(), nil), worqr.ErrProcessGone)
			assert.Equal(t, []string{"b"}, s.waiting("q"))
		},
		"delete": func(t *testing.T, s shared) {
			s.enqueue("q", "a", "b")
			p := s.start(s.w, "q")
			s.r.deleteQueue("q")
			assert.Empty(t, s.waiting("q"))
			require.NoError(t, p.Finish(t.Context(), nil), "what is worked on stays with its worker")
		},
	})
}

func TestTheReleasedProgramFollowsOurCommands(t *testing.T) {
	t.Parallel()
	onShared(t, map[string]func(t *testing.T, s shared){
		"start and stop": func(t *testing.T, s shared) {
			s.r.enqueue("q", "a", "b")
			require.NoError(t, s.start(s.w, "q").Stop(t.Context()))
			_, task := s.r.dequeue("r", "q", "0")
			assert.Equal(t, "a", task, "ours put it at the front")
		},
		"finish": func(t *testing.T, s shared) {
			s.r.enqueue("q", "a")
			require.NoError(t, s.start(s.w, "q").Finish(t.Context(), nil))
			_, task := s.r.dequeue("r", "q", "0")
			assert.Empty(t, task)
		},
		"cancel": func(t *testing.T, s shared) {
			s.r.enqueue("q", "a", "b", "a")
			removed, err := s.w.CancelTasks(t.Context(), "q", []byte("a"))
			require.NoError(t, err)
			assert.Equal(t, 2, removed)
			_, task := s.r.dequeue("r", "q", "0")
			assert.Equal(t, "b", task)
		},
		"delete": func(t *testing.T, s shared) {
			s.r.enqueue("q", "a", "b")
			count, err := s.w.DeleteQueue(t.Context(), "q")
			require.NoError(t, err)
			assert.Equal(t, 2, count)
			_, task := s.r.dequeue("r", "q", "0")
			assert.Empty(t, task)
		},
		"workers": func(t *testing.T, s shared) {
			assert.ElementsMatch(t, []string{"r", s.w.Worker()}, s.set("workers"))
			assert.Equal(t, []string{"r"}, s.set("expiringWorkers"), "ours never expire to them")
			assert.Equal(t, []string{s.w.Worker()}, s.set("permanentWorkers"))
			assert.True(t, s.r.keepAlive("r"))
			s.lapse("r")
			assert.False(t, s.r.keepAlive("r"))
		},
		"working queues": func(t *testing.T, s shared) {
			require.NoError(t, s.w.StartWork(t.Context(), "a"))
			s.r.startWork("r", "b")
			for worker, want := range map[string][]string{s.w.Worker(): {"a", "q"}, "r": {"b", "q"}, "nobody": nil} {
				queues, err := s.w.WorkingQueues(t.Context(), worker)
				require.NoError(t, err)
				assert.ElementsMatch(t, want, queues)
				assert.ElementsMatch(t, want, s.r.members("workingQueues:"+worker))
			}
		},
	})
}

// TestReleasedProgramsLeakOurLocks, in each way that the documentation of the package names, and cancelling the task
// frees it.
func TestReleasedProgramsLeakOurLocks(t *testing.T) {
	t.Parallel()
	leaks := map[string]func(t *testing.T, s shared){
		"finish": func(t *testing.T, s shared) {
			require.True(t, s.unique())
			process, task := s.r.dequeue("r", "q", "0")
			require.Equal(t, "u", task)
			s.r.finish("r", process, "")
		},
		"cancel": func(t *testing.T, s shared) {
			require.True(t, s.unique())
			s.r.cancel("q", "u")
		},
		"delete": func(t *testing.T, s shared) {
			require.True(t, s.unique())
			s.r.deleteQueue("q")
		},
		"put back": func(t *testing.T, s shared) {
			require.True(t, s.unique())
			s.r.stop(s.start(s.w, "q").ID)
			require.NoError(t, s.start(s.w, "q").Finish(t.Context(), nil), "this one came back as a plain task")
		},
		"a plain twin in front is taken": func(t *testing.T, s shared) {
			s.enqueue("q", "u")
			require.True(t, s.unique())
			process, _ := s.r.dequeue("r", "q", "0")
			s.r.finish("r", process, "")
			require.NoError(t, s.start(s.w, "q").Finish(t.Context(), nil), "this one was the unique task")
		},
	}
	rows := map[string]func(t *testing.T, s shared){}
	for name, leak := range leaks {
		rows[name] = func(t *testing.T, s shared) {
			leak(t, s)
			assert.Empty(t, s.waiting("q"))
			assert.Empty(t, s.keys("processes:*"))
			assert.False(t, s.unique(), "the lock is left")
			_, err := s.w.CancelTasks(t.Context(), "q", []byte("u"))
			require.NoError(t, err)
			assert.True(t, s.unique())
		}
	}
	onShared(t, rows)
}
