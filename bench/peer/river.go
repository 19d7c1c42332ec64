package peer

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// River is github.com/riverqueue/river on PostgreSQL by pgx. FetchCooldown and FetchPollInterval are those of its own
// benchmark ("river bench"), which says that they matter most: 2 ms and 20 ms instead of 100 ms and 1 s.
//
// River's queues are separate pools with their own MaxWorkers, so several of them would make the concurrency of a
// worker another one than what the others are measured at. Here it has one queue with MaxWorkers as the concurrency,
// and a kind per name: less work for it than the others do.
type River struct{}

const (
	riverCooldown = 2 * time.Millisecond
	riverPoll     = 20 * time.Millisecond
	riverBulk     = 5000 // per InsertManyFast, the batch of "river bench"
)

// Name is "River".
func (River) Name() string { return "River" }

// Module is that of River.
func (River) Module() string { return "github.com/riverqueue/river" }

// Store is PostgreSQL.
func (River) Store() StoreKind { return Postgres }

// Config says how it is configured.
func (River) Config() []string {
	return []string{
		"one queue with MaxWorkers = concurrency, a kind per name",
		"FetchCooldown 2 ms, FetchPollInterval 20 ms, as in \"river bench\"; the rest is default",
		"bulk is InsertManyFast (COPY) of 5,000 at a time; pgx pool of 30 connections for each client",
		"PostgreSQL with fsync, synchronous_commit and full_page_writes off: as little durability as the Redis " +
			"beside it",
	}
}

// Open creates its tables, if need be, and makes a client that only inserts.
func (River) Open(ctx context.Context, place Place, _ []string) (Session, error) {
	s := &riverSession{dsn: place.Postgres}
	pool, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	s.pool = pool
	if err := s.prepare(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return s, nil
}

func (s *riverSession) connect(ctx context.Context) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(s.dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 30
	return pgxpool.NewWithConfig(ctx, config)
}

func (s *riverSession) prepare(ctx context.Context) error {
	driver := riverpgxv5.New(s.pool)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	s.client, err = river.NewClient(driver, &river.Config{Logger: slog.New(slog.DiscardHandler)})
	return err
}

type riverSession struct {
	dsn    string
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx]
}

// riverArgs are Args of a job of any kind.
type riverArgs struct {
	kind string
	Args
}

// Kind is the name of the job.
func (a riverArgs) Kind() string { return a.kind }

func (s *riverSession) Insert(ctx context.Context, job Job) error {
	params := riverParams(job)
	_, err := s.client.Insert(ctx, params.Args, params.InsertOpts)
	return err
}

func (s *riverSession) InsertMany(ctx context.Context, jobs []Job) error {
	for from := 0; from < len(jobs); from += riverBulk {
		part := jobs[from:min(len(jobs), from+riverBulk)]
		params := make([]river.InsertManyParams, len(part))
		for i, job := range part {
			params[i] = riverParams(job)
		}
		if _, err := s.client.InsertManyFast(ctx, params); err != nil {
			return err
		}
	}
	return nil
}

func riverParams(job Job) river.InsertManyParams {
	params := river.InsertManyParams{Args: riverArgs{kind: job.Name, Args: job.Args}}
	if !job.Due.IsZero() || job.Lane != "" {
		params.InsertOpts = &river.InsertOpts{ScheduledAt: job.Due, Queue: job.Lane}
	}
	return params
}

func (s *riverSession) Start(ctx context.Context, load Workload) (Worker, error) {
	pool, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	workers := river.NewWorkers()
	handle := river.WorkFunc(func(_ context.Context, job *river.Job[riverArgs]) error {
		load.Handle(job.Args.Args)
		return nil
	})
	for _, names := range [][]string{load.Names, load.Idle} {
		for _, name := range names {
			river.AddWorkerArgs(workers, riverArgs{kind: name}, handle)
		}
	}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		FetchCooldown: riverCooldown, FetchPollInterval: riverPoll, Logger: slog.New(slog.DiscardHandler),
		Queues:  map[string]river.QueueConfig{cmp.Or(load.Lane, river.QueueDefault): {MaxWorkers: load.Concurrency}},
		Workers: workers,
	})
	if err == nil {
		err = client.Start(context.WithoutCancel(ctx))
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &riverWorker{client: client, pool: pool}, nil
}

// Left counts every job that is not completed.
func (s *riverSession) Left(ctx context.Context) (left int, err error) {
	const query = `SELECT count(*) FROM river_job
		WHERE state IN ('available', 'running', 'scheduled', 'retryable', 'pending', 'discarded', 'cancelled')`
	err = s.pool.QueryRow(ctx, query).Scan(&left)
	return left, err
}

func (s *riverSession) Close() error {
	s.pool.Close()
	return nil
}

type riverWorker struct {
	client *river.Client[pgx.Tx]
	pool   *pgxpool.Pool
}

// Stop lets running jobs end, and closes the connections.
func (w *riverWorker) Stop(ctx context.Context) error {
	defer w.pool.Close()
	return w.client.Stop(ctx)
}
