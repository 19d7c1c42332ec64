// Package work runs background jobs on Redis. A program registers functions by name; a web handler, or anything else,
// stores a job in a fraction of a millisecond; a pool of workers runs it: soon, durably, and also when a process, a
// connection or Redis itself dies in the middle.
//
//	type Context struct{ DB *sql.DB }
//
//	func (c *Context) CreateWatch(ctx context.Context, userID, suggestionID int64) error {
//		_, err := c.DB.ExecContext(ctx, "INSERT INTO watches VALUES (?, ?)", userID, suggestionID)
//		return err
//	}
//
//	func main() {
//		pool := work.NewWorkerPool(Context{DB: open()}, 15, work.WorkerOptions{Redis: "redis://localhost:6379/0"}).
//			Job("create_watch", (*Context).CreateWatch)
//		go serve(pool.Enqueuer()) // enq.Enqueue(ctx, "create_watch", userID, suggestionID)
//		if err := pool.Run(context.Background()); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// # Concepts
//
// A job is a name, arguments and an id. Each name has a queue of its own: there is nothing to configure, and a long
// line of one kind holds up no other. An [Enqueuer] stores jobs; it needs neither the handlers nor a pool. A
// [WorkerPool] runs those whose names it serves, up to as many at a time as it has processors.
//
// A handler is an ordinary function or method: an optional pointer to the pool's context, an optional
// [context.Context], an optional *[Job], then the arguments, decoded from JSON. It returns an error, or a value and an
// error. The signature is compiled once, when the pool is set up. Each job gets a shallow copy of the context given to
// [NewWorkerPool]: what is set there is shared, what a job changes in its copy is its own.
//
// A [Kind] is a name with a type for the args and one for the result, which the compiler then checks: see [Define].
//
// In an any, a JSON number is a float64, as encoding/json has it, unless it is an integer that this would round: that
// is an int64, and one beyond that a [encoding/json.Number]. The same holds for [Job.LoadState], [Result] and the Value
// of an [objects.Ref]. A type switch needs all three; a field that is an int64 needs none.
//
// Middleware wraps all jobs of a pool. The first one given is the outermost:
//
//	Middleware(a).Middleware(b).Job("j", h)   runs   a(b(h))
//
// # What becomes of a job
//
// A handler that returns nil has done its job. After an error the job is tried again, with a growing delay
// ([DefaultBackoff]), until the attempts are used up, 26 by default; then it is buried in the morgue, with its last
// errors. A panic, and runtime.Goexit, are errors of the job that did it. Besides an error, a handler can return
// [RetryIn], [Snooze], [Release], [Bury] and [Discard]. A job whose record cannot be read, or whose arguments do not
// fit the handler, is buried at once with a reason that names them, since no attempt would go better.
//
// An option given with the job beats the one of [JobOptions], which beats the default. The value that a handler returns
// is kept as JSON for the job's Retention, by default not at all, and read by [Result].
//
// # Periodic jobs
//
// [WorkerPool.Periodic] enqueues a job at each tick of a cron spec, in a time zone if it names one, or @every so often.
// Each tick is enqueued once, however many workers run, by the clock of Redis. [PeriodicOptions] say what becomes of
// ticks that were missed and of those that come while the last job still runs. An Inspector of package inspect lists,
// adds, changes, pauses, runs and removes schedules while workers run.
//
// # Guarantees
//
// A job whose Enqueue returned no error is stored, and runs at least once. Nearly always it runs exactly once; it may
// run again when its worker died in the middle, or was taken for dead, or when an outcome could not be written. So a
// handler should be able to run twice: the id of the job is the same both times.
//
//   - A lost reply to an enqueue stores nothing twice: the call is made again under its number. What is not known in
//     the end is reported as [EnqueueError.Unknown].
//   - The jobs of a worker that is killed are begun elsewhere within 6 seconds (HeartbeatLife and 3 more). They go to
//     the front of their queues. A job with which three workers have died (MaxCrashes) is buried, unless chance
//     explains it.
//   - Only one worker at a time holds a job, and only the outcome of the one that holds it counts. A worker that was
//     taken for dead, after a pause for instance, goes on under a new id: its handlers' contexts end with [ErrFenced].
//   - Queues are first in, first out, as far as several processors allow. Shares between queues follow
//     [JobOptions].Priority; no queue that has work starves.
//   - A job that is scheduled for later never runs early by the clock of Redis. Jobs that are due in the same
//     millisecond are queued in the order in which they were given that time.
//   - What one broken job, record or key does, it does to itself: the others go on.
//
// # Lifecycle
//
// A pool is set up by one goroutine: Middleware, Job and JobWithOptions return the pool, so that they chain, and keep
// every mistake. [WorkerPool.Start] returns all of them at once, as a *[SetupError]: which function, in which file and
// line, what was found and what was wanted. A start that fails leaves nothing behind, neither goroutines nor keys (but
// for schedules that it has declared), and may be tried again. Start dials Redis; nothing before it does.
//
// [WorkerPool.Stop] ends the pool in good order:
//
//  1. Nothing is fetched any more. What was fetched and has not begun goes back to the front of its queue, in order.
//  2. [Job.Checkin] answers true: a long handler may come to an end, or hand its job back with [Release].
//  3. After ShutdownTimeout, 25 seconds by default, the contexts of those that still run end with [ErrShutdown]. A
//     handler that then returns the error of its ctx is given back: no attempt is used.
//  4. A second later the jobs of handlers that have not returned are given back as well. Such a handler runs on beside
//     its successor; the program should exit.
//  5. Every outcome is acknowledged by Redis, and the worker is removed from it.
//
// [WorkerPool.StopNow] begins at 3, without the wait.
//
// Stop returns nil, or a *[StopError] that names the jobs of 3 and 4 and whatever else went wrong. It returns within
// its ctx whatever Redis or a handler does: the last quarter of the time, at most five seconds, is kept for giving jobs
// back, and what is left over is taken up by other workers a few seconds later. Start and Stop may be called in
// any order, twice and at the same time; a stopped pool does not start again.
//
// A pool with an IdleTimeout stops by itself when it had nothing to do for so long. [WorkerPool.Done] tells that a pool
// has stopped, for whatever reason.
//
// [WorkerPool.Run] is Start, waiting for the end of its ctx, SIGINT or SIGTERM, and Stop; a second signal ends the
// wait. [WorkerPool.Drain] waits until there is nothing to do, which is what a test or a batch wants.
//
// # Redis
//
// One Redis, 7.0 or newer, holds everything; all keys begin with the namespace in braces. It is named by a DSN:
//
//	redis://user:password@host:6379/0?pool_size=20&read_timeout=5s
//	rediss://host:6379/0?tls_ca=/etc/ca.pem
//	unix:///run/redis.sock?db=1
//	memory://name
//
// The last one is a Redis within the process, for development and tests: a blank import of the package embedded adds
// it. A program that has a pool of connections gives it as [Redigo] instead; it may be shared, small, and without Wait.
// Each worker keeps two connections of its own beside it, for its heartbeat and to sleep on, and a pool one more.
//
// Every change of state is one script that may be sent twice. An idle worker waits in Redis for a token and asks for
// nothing. While Redis is away outcomes wait in memory, within a bound, and nothing is fetched; no healthy job ends
// because of it. When Redis is full only enqueues are refused ([ErrRedisFull]): workers go on and drain it. A Redis
// that has lost its data is noticed, and reported as [event.DataLost].
//
// Redis decides what is durable: with appendfsync everysec a crash of Redis may lose the last second.
//
// # Concurrency
//
// The concurrency of a pool is how many handlers run at a time, 1 to 100,000; above 256 the pool appears in Redis as
// several workers. There is no limit on how many pools and programs share a namespace.
//
// Any number of goroutines may call the methods of [Enqueuer] and, once it is set up, of [WorkerPool]; callers of one
// Enqueuer share round trips. A handler enqueues through [EnqueuerFromContext]. A [Job] belongs to its run: do not keep
// it, and call only Checkin from other goroutines of the handler. Many goroutines call an [Observer] at once.
//
// A handler that ignores its ctx cannot be stopped: a Timeout reports it ([event.JobStuck]), and its processor stays
// taken. While every processor is, Healthy fails with [ErrProcessorsHang].
//
// # Errors
//
// Mistakes of the program never panic. A call returns its own: [SetupError] with [SignatureError] and [InvalidError] in
// it, [EnqueueError], [StopError]; all of them carry causes for errors.Is and errors.As. A set-up call after Start,
// which has nobody to return to, goes to the log.
//
// What fails in the background is an [event.Event]: [event.Trouble] when something begins to fail, [event.TroubleOver]
// when it succeeds again, none in between. What happens to jobs are events as well. The log, [WorkerOptions].Logger, is
// one receiver of them; each [Observer] is another.
package work
