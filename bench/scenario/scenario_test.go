package scenario

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/bench/peer"
	"github.com/265d0351/work/bench/server"
	"github.com/265d0351/work/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// TestEachScenarioRunsEveryJobOnce runs all scenarios with all libraries, with a few jobs. A run that loses or doubles
// a job returns an error; no time is asserted. Most of it is to wait for what libraries do once a second, so the
// scenarios run side by side where each can have servers of its own: a Redis starts at once, a PostgreSQL does not.
func TestEachScenarioRunsEveryJobOnce(t *testing.T) {
	t.Parallel()
	for _, lib := range peer.All() {
		t.Run(lib.Name(), func(t *testing.T) {
			t.Parallel()
			var shared *Stage // for one run at a time
			if lib.Store() == peer.Postgres {
				shared = testStage(t, lib)
			}
			for _, s := range All() {
				t.Run(s.Name, func(t *testing.T) {
					if !s.Takes(lib) {
						t.Skipf("it means nothing for %s", lib.Name())
					}
					stage := shared
					if stage == nil {
						t.Parallel()
						stage = testStage(t, lib)
					}
					metrics, err := s.Run(t.Context(), &Run{Stage: stage, Library: lib, Size: Tiny, Jobs: s.Jobs[Tiny]})
					require.NoError(t, err)
					require.NotEmpty(t, metrics)
					assert.Positive(t, metrics[0].Value, "the first figure of %s", s.Name)
					if s.Fitted {
						assert.Equal(t, "/s", metrics[0].Unit, "the number of jobs is fitted by the first figure")
						assert.False(t, metrics[0].Lower)
					}
				})
			}
		})
	}
}

// TestEachDriverRunsEveryJobOnce: the figures of a client that loses or doubles calls would mean nothing.
func TestEachDriverRunsEveryJobOnce(t *testing.T) {
	t.Parallel()
	for _, lib := range peer.Drivers() {
		t.Run(lib.Name(), func(t *testing.T) {
			t.Parallel()
			stage := testStage(t, lib)
			for _, s := range OfDrivers() {
				if s.Fitted { // the others wait for seconds
					metrics, err := s.Run(t.Context(), &Run{Stage: stage, Library: lib, Size: Tiny, Jobs: s.Jobs[Tiny]})
					require.NoError(t, err, s.Name)
					assert.Positive(t, metrics[0].Value, s.Name)
				}
			}
		})
	}
}

// TestASingleJobWakesOneOfManyIdleWorkers: what the proxy counts is exact, whatever the machine does.
func TestASingleJobWakesOneOfManyIdleWorkers(t *testing.T) {
	t.Parallel()
	stage := testStage(t, peer.Work{})
	metrics, err := idle(10).Run(t.Context(), &Run{Stage: stage, Library: peer.Work{}, Size: Tiny, Jobs: 30})
	require.NoError(t, err)
	assert.EqualValues(t, 30, metrics[1].Value, metrics[1].Name)
	assert.LessOrEqual(t, metrics[2].Value, 10.0, metrics[2].Name)
}

// testStage starts the servers that the library needs. What is missing skips the test, or fails it where Redis is
// required.
func testStage(t *testing.T, lib peer.Library) *Stage {
	t.Helper()
	redis, err := server.StartRedis()
	if err != nil && os.Getenv("WORK_REQUIRE_REDIS") == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
	stage := &Stage{Redis: redis}
	t.Cleanup(stage.Close)
	if lib.Store() == peer.Postgres {
		stage.Postgres, stage.PostgresError = server.StartPostgres(t.Context())
	}
	if err := stage.Lacks(lib); err != nil {
		t.Skip(err)
	}
	return stage
}

// faulty is this library with a fault: its worker runs what mangle makes of each job.
type faulty struct {
	peer.Work
	mangle func(args peer.Args, handle func(peer.Args))
}

type faultySession struct {
	peer.Session
	faulty faulty
}

func (f faulty) Open(ctx context.Context, place peer.Place, names []string) (peer.Session, error) {
	session, err := f.Work.Open(ctx, place, names)
	return faultySession{session, f}, err
}

func (s faultySession) Start(ctx context.Context, load peer.Workload) (peer.Worker, error) {
	handle := load.Handle
	load.Handle = func(args peer.Args) { s.faulty.mangle(args, handle) }
	return s.Session.Start(ctx, load)
}

func TestTheHarnessFindsJobsThatRanTwiceOrAsAnother(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		mangle func(args peer.Args, handle func(peer.Args))
		want   string
	}{
		"twice": {func(args peer.Args, handle func(peer.Args)) {
			handle(args)
			if args.ID == 50 {
				handle(args)
			}
		}, "1 ran more than once"},
		"as another": {func(args peer.Args, handle func(peer.Args)) {
			if args.ID == 7 {
				args.ID = 8
			}
			handle(args)
		}, "1 did not run and 1 ran more than once, job 8"},
		"unknown": {func(args peer.Args, handle func(peer.Args)) {
			handle(args)
			if args.ID == 3 {
				handle(peer.Args{ID: 100_000})
			}
		}, "1 jobs ran that were never stored"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lib := faulty{mangle: row.mangle}
			run := &Run{Stage: testStage(t, lib), Library: lib, Size: Tiny, Jobs: 100}
			_, err := process(processing{concurrency: 10, queues: 3}).Run(t.Context(), run)
			require.ErrorContains(t, err, row.want)
		})
	}
}

// hollow claims to have stored what it dropped.
type hollow struct{ peer.Work }

type hollowSession struct{ peer.Session }

func (h hollow) Open(ctx context.Context, place peer.Place, names []string) (peer.Session, error) {
	session, err := h.Work.Open(ctx, place, names)
	return hollowSession{session}, err
}

func (s hollowSession) InsertMany(ctx context.Context, jobs []peer.Job) error {
	return s.Session.InsertMany(ctx, jobs[1:])
}

func TestTheHarnessFindsJobsThatWereNotStored(t *testing.T) {
	t.Parallel()
	lib := hollow{}
	run := &Run{Stage: testStage(t, lib), Library: lib, Size: Tiny, Jobs: 100}
	for _, s := range []Scenario{process(processing{concurrency: 10, queues: 3}), bulk(), backlog(), memory()} {
		_, err := s.Run(t.Context(), run)
		assert.ErrorContains(t, err, "were stored", s.Name)
	}
}
