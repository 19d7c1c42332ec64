package peer

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/gomodule/redigo/redis"

	"github.com/265d0351/work"
	"github.com/265d0351/work/lua"
)

// Work is this library, with the defaults of everything: one Enqueuer, a WorkerPool of so many processors, a handler
// that takes the job's one argument decoded, a logger that drops. Its zero value has the client of a DSN.
type Work struct{ Client Client }

// WorkNamespace is where Work keeps its keys.
const WorkNamespace = "bench"

// Name is "work".
func (Work) Name() string { return "work" }

// Module is this library's.
func (Work) Module() string { return "github.com/265d0351/work" }

// Store is Redis.
func (Work) Store() StoreKind { return Redis }

// Config says how it is configured.
func (Work) Config() []string {
	return []string{
		"defaults of every option; the log is dropped, as that of the others",
		"a name is a queue; one Enqueuer is shared by all callers; bulk is EnqueueMany",
	}
}

// Open makes an Enqueuer.
func (w Work) Open(_ context.Context, place Place, names []string) (Session, error) {
	connection, end, err := w.Client.connect(place.Redis)
	if err != nil {
		return nil, err
	}
	dsn, options := "redis://"+place.Redis+"/0", []work.EnqueuerOption{work.Namespace(WorkNamespace)}
	if connection != nil {
		dsn, options = "", append(options, work.WithConnection(connection))
	}
	enq, err := work.NewEnqueuer(dsn, options...)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	prefix := "{" + WorkNamespace + "}:"
	counts := []keyCount{
		{"HLEN", prefix + "claimed"}, {"ZCARD", prefix + "scheduled"}, {"ZCARD", prefix + "retry"},
		{"ZCARD", prefix + "morgue"},
	}
	for _, name := range names {
		counts = append(counts, keyCount{"LLEN", prefix + "queue:" + name})
	}
	left := newCounter(place.Redis, counts)
	return &workSession{dsn: dsn, connection: connection, end: end, enq: enq, left: left}, nil
}

// Fetched knows the fetch by its script, which the first time is sent in full.
func (Work) Fetched(request []string, reply any) (bool, int) {
	if len(request) < 3 || !strings.HasPrefix(strings.ToUpper(request[0]), "EVAL") || request[1] != fetchSHA &&
		request[1] != fetchSource {
		return false, 0
	}
	wanted := 5 // behind the keys: worker, number of the fetch, how many jobs
	if keys, err := strconv.Atoi(request[2]); err != nil || len(request) <= keys+wanted || request[keys+wanted] == "0" {
		return false, 0 // it only looks which queues have work, as an idle worker does once a second
	}
	jobs := 0
	answer, _ := reply.([]any)
	for _, round := range answer[min(len(answer), 6):] {
		if lists, _ := round.([]any); len(lists) > 1 { // parts, ids, records, ...
			ids, _ := lists[1].([]any)
			jobs += len(ids)
		}
	}
	return true, jobs
}

type workSession struct {
	dsn        string          // or
	connection work.Connection // of the client that end ends
	end        func() error
	enq        *work.Enqueuer
	left       *counter
}

func (s *workSession) Insert(ctx context.Context, job Job) error {
	if job.Due.IsZero() {
		_, err := s.enq.Enqueue(ctx, job.Name, job.Args)
		return err
	}
	_, err := s.enq.EnqueueAt(ctx, job.Name, job.Due, job.Args)
	return err
}

func (s *workSession) InsertMany(ctx context.Context, jobs []Job) error {
	entries := make([]work.Entry, len(jobs))
	for i, job := range jobs {
		entries[i] = work.Entry{Name: job.Name, Args: []any{job.Args}, At: job.Due}
	}
	_, err := s.enq.EnqueueMany(ctx, entries)
	return err
}

func (s *workSession) Start(ctx context.Context, load Workload) (Worker, error) {
	pool := work.NewWorkerPool(nil, load.Concurrency, work.WorkerOptions{
		Redis: s.dsn, Connection: s.connection, Namespace: WorkNamespace, Logger: slog.New(slog.DiscardHandler),
	})
	for _, name := range slices.Concat(load.Names, load.Idle) {
		pool.Job(name, func(args Args) error {
			load.Handle(args)
			return nil
		})
	}
	return pool, pool.Start(ctx)
}

func (s *workSession) Left(context.Context) (int, error) { return s.left.sum() }

func (s *workSession) Close() error {
	s.left.close()
	return errors.Join(s.enq.Close(), s.end())
}

// fetchSHA and fetchSource are how requests name the script of a fetch.
var fetchSHA, fetchSource = func() (sha, source string) {
	source, err := lua.Source("job/fetch")
	if err != nil {
		return "no such script", "no such script"
	}
	return redis.NewScript(-1, source).Hash(), source
}()
