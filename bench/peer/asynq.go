package peer

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/hibiken/asynq"
)

// Asynq is github.com/hibiken/asynq, as its own benchmark and its documentation have it: one Client, one Server, each
// with its own go-redis pool; a queue per name of the same weight; payloads in JSON by encoding/json, as in its guide.
//
// TaskCheckInterval (1 s) and DelayedTaskCheckInterval (5 s) are left at their defaults: shorter ones would be paid in
// requests of idle workers, which the same table shows, and its documentation warns of it. Neither matters while there
// is work. It has no bulk enqueue: its way to many jobs is many callers of one Client, 32 here.
type Asynq struct{}

// asynqCallers is how many goroutines InsertMany uses. More are no faster on two cores.
const asynqCallers = 32

// Name is "asynq".
func (Asynq) Name() string { return "asynq" }

// Module is that of asynq.
func (Asynq) Module() string { return "github.com/hibiken/asynq" }

// Store is Redis.
func (Asynq) Store() StoreKind { return Redis }

// Config says how it is configured.
func (Asynq) Config() []string {
	return []string{
		"a queue per name, equal weights; names without jobs are task types of the first queue",
		"TaskCheckInterval 1 s and DelayedTaskCheckInterval 5 s, its defaults (shorter ones cost idle requests)",
		"PoolSize of go-redis: its default for the client, the concurrency for the server if that is larger",
		"no bulk enqueue: 32 callers of one Client",
		"only fatal errors are logged",
	}
}

// Open makes a Client.
func (Asynq) Open(_ context.Context, place Place, names []string) (Session, error) {
	var counts []keyCount
	for _, name := range names {
		prefix := "asynq:{" + name + "}:"
		counts = append(counts, keyCount{"LLEN", prefix + "pending"}, keyCount{"LLEN", prefix + "active"},
			keyCount{"ZCARD", prefix + "scheduled"}, keyCount{"ZCARD", prefix + "retry"},
			keyCount{"ZCARD", prefix + "archived"})
	}
	opt := asynq.RedisClientOpt{Addr: place.Redis}
	return &asynqSession{opt: opt, client: asynq.NewClient(opt), left: newCounter(place.Redis, counts)}, nil
}

// Fetched knows the dequeue script by its second key; it gives one job or nothing.
func (Asynq) Fetched(request []string, reply any) (bool, int) {
	if len(request) < 5 || !strings.HasPrefix(strings.ToUpper(request[0]), "EVAL") ||
		!strings.HasSuffix(request[4], ":paused") {
		return false, 0
	}
	if reply == nil {
		return true, 0
	}
	return true, 1
}

type asynqSession struct {
	opt    asynq.RedisClientOpt
	client *asynq.Client
	left   *counter
}

func (s *asynqSession) Insert(ctx context.Context, job Job) error {
	payload, err := json.Marshal(job.Args)
	if err != nil {
		return err
	}
	opts := []asynq.Option{asynq.Queue(job.Name)}
	if !job.Due.IsZero() {
		opts = append(opts, asynq.ProcessAt(job.Due))
	}
	_, err = s.client.EnqueueContext(ctx, asynq.NewTask(job.Name, payload), opts...)
	return err
}

func (s *asynqSession) InsertMany(ctx context.Context, jobs []Job) error {
	return eachOf(jobs, asynqCallers, func(job Job) error { return s.Insert(ctx, job) })
}

func (s *asynqSession) Start(_ context.Context, load Workload) (Worker, error) {
	queues := make(map[string]int, len(load.Names))
	mux := asynq.NewServeMux()
	handler := func(_ context.Context, task *asynq.Task) error {
		var args Args
		if err := json.Unmarshal(task.Payload(), &args); err != nil {
			return err
		}
		load.Handle(args)
		return nil
	}
	for _, name := range load.Names {
		queues[name] = 1
		mux.HandleFunc(name, handler)
	}
	for _, name := range load.Idle {
		mux.HandleFunc(name, handler)
	}
	opt := s.opt
	opt.PoolSize = serverPool(load.Concurrency)
	server := asynq.NewServer(opt,
		asynq.Config{Concurrency: load.Concurrency, Queues: queues, LogLevel: asynq.FatalLevel})
	return asynqWorker{server}, server.Start(mux)
}

func (s *asynqSession) Left(context.Context) (int, error) { return s.left.sum() }

func (s *asynqSession) Close() error {
	s.left.close()
	return s.client.Close()
}

type asynqWorker struct{ server *asynq.Server }

// Stop is Shutdown, which lets running tasks end and closes the connections.
func (w asynqWorker) Stop(context.Context) error {
	w.server.Shutdown()
	return nil
}
