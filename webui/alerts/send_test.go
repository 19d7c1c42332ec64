package alerts

import (
	"context"
	"encoding/json"
	"github.com/265d0351/work/internal/rdb/peopledb"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/embedded"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// receiver is a webhook that keeps what is posted.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	got     []map[string]any
	headers []http.Header
	answer  func(n int) int // to the nth post; nil is 200 to all
	posts   int             // since then
	tried   map[string]int  // by rules
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{tried: map[string]int{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		assert.NoError(t, err)
		var posted map[string]any
		assert.NoError(t, json.Unmarshal(body, &posted), string(body))
		r.mu.Lock()
		defer r.mu.Unlock()
		r.posts++
		r.tried[posted["rule"].(string)]++
		code := http.StatusOK
		if r.answer != nil {
			code = r.answer(r.posts)
		}
		if code < 300 {
			r.got, r.headers = append(r.got, posted), append(r.headers, q.Header)
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(code)
	}))
	t.Cleanup(r.Close)
	return r
}

// said are what was received since the last call: state and rule of each.
func (r *receiver) said() (said []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.got {
		said = append(said, m["state"].(string)+" "+m["rule"].(string))
	}
	r.got = nil
	return said
}

func (r *receiver) answers(code func(n int) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer, r.posts, r.tried = code, 0, map[string]int{}
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.posts
}

// kit is a namespace with one alert, that no worker is registered, and as many senders as are wanted.
type kit struct {
	t         *testing.T
	dsn       string
	namespace string
	hook      *receiver
	log       strings.Builder
}

func newKit(t *testing.T, dsn string) *kit {
	t.Helper()
	return &kit{t: t, dsn: dsn, namespace: redistest.Namespace(t), hook: newReceiver(t)}
}

func (k *kit) inspector() *inspect.Inspector {
	k.t.Helper()
	i, err := inspect.New(k.dsn, work.Namespace(k.namespace))
	require.NoError(k.t, err)
	k.t.Cleanup(func() { assert.NoError(k.t, i.Close()) })
	return i
}

// sender is one that tells at once, and does not wait between posts.
func (k *kit) sender(change ...func(*Options)) *sender {
	k.t.Helper()
	opts := Options{URL: k.hook.URL, Logger: slog.New(slog.NewTextHandler(&k.log, nil))}
	for _, c := range change {
		c(&opts)
	}
	s, err := newSender(k.inspector(), opts)
	require.NoError(k.t, err)
	s.After, s.times.pause = 0, 0
	return s
}

func (k *kit) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	k.t.Cleanup(cancel)
	return ctx
}

// works registers a worker, so that nothing is wrong, and returns what stops it.
func (k *kit) works() func() {
	k.t.Helper()
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: k.dsn, Namespace: k.namespace,
		Logger: slog.New(slog.DiscardHandler)}).Job("mail", func() error { return nil })
	require.NoError(k.t, pool.Start(context.Background()))
	return sync.OnceFunc(func() { assert.NoError(k.t, pool.Stop(k.ctx())) })
}

// Five dashboards are open: somebody is told once, and once that it is over; the next incident is another one.
func TestAnIncidentIsToldOnceByAll(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		k := newKit(t, server.DSN())
		var all []*sender
		for range 5 {
			all = append(all, k.sender())
		}
		rounds := func() {
			for range 3 {
				for _, s := range all {
					s.round(k.ctx())
				}
			}
		}
		rounds()
		assert.Equal(t, []string{"firing no-workers"}, k.hook.said())
		all[0].leave(k.ctx()) // the one that has told ends, and another goes on
		all = all[1:]
		rounds()
		assert.Empty(t, k.hook.said())
		stop := k.works()
		rounds()
		assert.Equal(t, []string{"over no-workers"}, k.hook.said())
		incidents, _, err := all[0].inspector.Incidents(k.ctx())
		require.NoError(t, err)
		assert.Empty(t, incidents)
		stop()
		rounds()
		assert.Equal(t, []string{"firing no-workers"}, k.hook.said())
	})
}

// Whoever dies between a message and its note leaves the incident untold: the next one tells it again.
func TestAMessageIsRatherToldTwiceThanNever(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t).DSN())
	dies := k.sender()
	ctx, cancel := context.WithCancel(k.ctx())
	k.hook.answers(func(int) int { cancel(); return http.StatusOK }) // it was told, and nobody hears of it
	dies.round(ctx)
	k.hook.answers(nil)
	dies.leave(k.ctx())
	k.sender().round(k.ctx())
	said := k.hook.said()
	assert.Equal(t, []string{"firing no-workers", "firing no-workers"}, said)
}

func TestASilencedRuleIsNotTold(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		k := newKit(t, server.DSN())
		s := k.sender()
		require.NoError(t, s.inspector.SilenceAlert(k.ctx(), string(NoWorkers), time.Hour, "ann"))
		s.round(k.ctx())
		assert.Empty(t, k.hook.said())
		incidents, silences, err := s.inspector.Incidents(k.ctx())
		require.NoError(t, err)
		require.Len(t, incidents, 1)
		assert.True(t, incidents[0].Told.IsZero())
		require.Len(t, silences, 1)
		assert.Equal(t, "ann", silences[0].By)
		require.NoError(t, s.inspector.SilenceAlert(k.ctx(), string(NoWorkers), 0, ""))
		s.round(k.ctx())
		assert.Equal(t, []string{"firing no-workers"}, k.hook.said())
		require.NoError(t, s.inspector.SilenceAlert(k.ctx(), string(NoWorkers), time.Hour, "ann"))
		stop := k.works()
		s.round(k.ctx())
		assert.Equal(t, []string{"over no-workers"}, k.hook.said(), "who was told is told the end")
		stop()
	})
}

// What comes and goes within a minute is told to nobody, nor is what is gone for less than that told to be over.
func TestWhatLastsIsTold(t *testing.T) {
	t.Parallel()
	server, err := embedded.Start()
	require.NoError(t, err)
	defer server.Close()
	server.SetTime(time.Now())
	k := newKit(t, server.DSN())
	s := k.sender(func(o *Options) { o.Notes = true })
	s.After = time.Minute
	pass := func(d time.Duration) []string {
		server.Advance(d)
		s.round(k.ctx())
		return k.hook.said()
	}
	assert.Empty(t, pass(0))
	assert.Empty(t, pass(59*time.Second))
	assert.Equal(t, []string{"firing no-workers"}, pass(time.Second))
	require.NoError(t, s.inspector.PauseAll(k.ctx()))
	assert.Empty(t, pass(time.Second))
	require.NoError(t, s.inspector.ResumeAll(k.ctx()))
	assert.Empty(t, pass(59*time.Second))
	incidents, _, err := s.inspector.Incidents(k.ctx())
	require.NoError(t, err)
	assert.Len(t, incidents, 2, "it may come back")
	assert.Empty(t, pass(2*time.Second), "what was not told is over without a word")
	incidents, _, err = s.inspector.Incidents(k.ctx())
	require.NoError(t, err)
	assert.Len(t, incidents, 1)
}

func TestAWebhookThatFailsIsTriedAgainWithinBounds(t *testing.T) {
	t.Parallel()
	server, err := embedded.Start()
	require.NoError(t, err)
	defer server.Close()
	server.SetTime(time.Now())
	k := newKit(t, server.DSN())
	s := k.sender()
	k.hook.answers(func(n int) int { return map[bool]int{true: 503, false: 200}[n < postsOfRound] })
	s.round(k.ctx())
	assert.Equal(t, []string{"firing no-workers"}, k.hook.said(), "the third post of a round comes through")

	k.hook.answers(func(int) int { return http.StatusServiceUnavailable })
	stop := k.works()
	s.round(k.ctx())
	assert.Equal(t, postsOfRound, k.hook.count())
	s.round(k.ctx())
	assert.Equal(t, postsOfRound, k.hook.count(), "not before its time")
	for range 3 * maxTries {
		server.Advance(maxBackoff)
		s.round(k.ctx())
	}
	assert.Equal(t, maxTries*postsOfRound, k.hook.tried["no-workers"], "it is given up")
	incidents, _, err := s.inspector.Incidents(k.ctx())
	require.NoError(t, err)
	for _, of := range incidents {
		assert.NotEqual(t, string(NoWorkers), of.Rule)
	}
	assert.NotContains(t, k.log.String(), k.hook.URL, "an address may be a secret")
	assert.Contains(t, k.log.String(), "somebody should have been told")
	stop()
}

// A redirect or a 404 would be the same again; a webhook that cannot be reached is no reason to say its address.
func TestWhatIsRefusedIsPostedOnceInARound(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]int{"not found": 404, "a redirect": 307} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, redistest.Embedded(t).DSN())
			k.hook.answers(func(int) int { return code })
			k.sender().round(k.ctx())
			assert.Equal(t, 1, k.hook.count())
		})
	}
	t.Run("gone", func(t *testing.T) {
		t.Parallel()
		k := newKit(t, redistest.Embedded(t).DSN())
		k.hook.Close()
		k.sender(func(o *Options) { o.URL = k.hook.URL + "/a-secret" }).round(k.ctx())
		assert.Contains(t, k.log.String(), "does not answer")
		assert.NotContains(t, k.log.String(), "a-secret")
	})
}

// There is no Redis in which to agree: each tells it, under the same key.
func TestARedisThatIsAwayIsTold(t *testing.T) {
	t.Parallel()
	process := redistest.Dedicated(t)
	k := newKit(t, process.DSN())
	stop := k.works()
	s := k.sender()
	s.round(k.ctx())
	require.Empty(t, k.hook.said())
	stop()
	process.Kill()
	s.round(k.ctx())
	s.round(k.ctx())
	assert.Equal(t, []string{"firing redis-away"}, k.hook.said())
	require.NoError(t, process.Restart())
	s.round(k.ctx())
	assert.Equal(t, "over redis-away", k.hook.said()[0])
}

func TestSendGoesOnUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t).DSN())
	ctx, cancel := context.WithCancel(k.ctx())
	ended := make(chan error)
	go func() { ended <- Send(ctx, k.inspector(), Options{URL: k.hook.URL, After: 1, Every: time.Second}) }()
	require.Eventually(t, func() bool { return len(k.hook.said()) > 0 }, time.Minute, 10*time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
	other := k.sender()
	kept, err := peopledb.Of(other.store).KeepIncidents(k.ctx(), other.token, time.Minute)
	require.NoError(t, err)
	assert.True(t, kept, "another one goes on at once")
}
