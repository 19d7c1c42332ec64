// Package worqr keeps raw queues of opaque tasks in Redis, from which workers take one task at a time, peer to peer.
//
// It is a Go implementation of Worqr, in the key layout of its released program (1.2.3), so that both can share queues.
// A task is any bytes; there is no envelope and no history. For jobs with retries, schedules and results see the
// framework in the package above this one.
//
// # Concepts
//
// A task waits in a queue, first in, first out. A worker is a [Client] after [Client.Start]: an id with a timer in
// Redis, which a heartbeat renews each second and which stands for three. A process is a task that a worker works on;
// its id is the name of the queue, an underscore and a UUID, chosen by the client.
//
//	                 StartTask                  FinishTask
//	Enqueue -> queue ----------> process of a worker ----------> gone, and told
//	             ^                   |        |
//	             +-- StopTask, ------+        +-- CancelTasks --> gone
//	                 StopWork, a dead worker: to the front
//
// [Client.StartWork] subscribes to the channels of a queue. From then on the worker is told of tasks ([Work]) and takes
// them with [Client.StartTask]; nobody asks again and again. [Client.Serve] does all of it around a handler, and looks
// every few seconds for tasks of which nobody has told.
//
// # Guarantees
//
//   - Every transition of a task is one script: it is in a queue or in one process, at any time, and goes to one
//     worker. What concerns many tasks takes several scripts, each of up to 500 of them: StopWork, FailWorker, Cleanup
//     and Close put tasks back in such steps, and the worker is forgotten in the last; DeleteQueue reads the locks
//     first; Enqueue stores in parts. Who dies in between leaves nothing that the next one does not go on with.
//   - Starting a task takes one round trip, finishing it another.
//   - A task that is given back (stopped, left, of a dead worker) goes to the front of its queue, those of one worker
//     in the order in which it had taken them, and the workers of the queue are told how many there are.
//   - A dead worker takes nobody else's tasks with it: processes are kept by worker and queue.
//   - A reply that is lost does no harm. Calls are sent again until their ctx ends or Options.CallTimeout has passed:
//     an enqueue has a number, a start finds the process that it has made, a finish that finds its process gone has
//     done it before. A start whose caller has gone away is taken back by the next heartbeat, and void if it lands
//     later.
//   - A process that is no longer the worker's can be neither finished nor stopped ([ErrProcessGone]).
//   - A cancelled task that is being worked on ends, and is never put back, even if its worker dies without having
//     heard of it, for Options.CancelledFor and among the newest 10,000 cancellations of the queue, unless a released
//     program puts it back.
//   - The lock of a unique task belongs to that one task: copies of the same bytes that were enqueued without it do not
//     free it, and cancelling the task or deleting the queue does. Copies are told apart by their order, and those
//     further than 10,000 tasks from the front are not seen when a unique one is enqueued behind them.
//   - At full memory Redis refuses to enqueue ([ErrRedisFull]) and nothing else.
//
// Delivery is at least once: a worker that dies after its work and before FinishTask has done work that another one
// does again. A worker whose timer has lapsed, be it because Redis was away, is dead by definition: it is told
// ([Lapsed]), the contexts of its processes end, and it starts anew.
//
// # Events
//
// [Client.Events] yields what concerns the client: [Work], [Done], [Cancelled], [Deleted] of the queues it works on,
// and [Lapsed], [Restarted], [WorkerFailed], [Failed], and [Debug] now and then with Options.Debug. [Client.Watch] does
// so for one queue that it does not work on. A result is JSON, and [Done.Text] the string that most are.
// They are published, so who does not listen does not hear them; what the state of a worker depends on is looked up
// again after a connection was lost. Each queue takes one connection to listen on.
//
// # Keys and channels
//
// With the default prefix. Those of the released program are shared with it.
//
//	worqr:queues:<q>                      list    tasks; in at the head, out at the tail     shared
//	worqr:processes:<pid>                 list    the one task being worked on               shared
//	worqr:workers                         set     registered workers                         shared
//	worqr:permanentWorkers                set     ours are all in it, see below              shared
//	worqr:workerTimers:<w>                string  RUN, while the worker is alive             shared
//	worqr:workingQueues:<w>               set     queues that w serves                       shared
//	worqr:servedQueues:<w>                set     the same, which the released program does not remove
//	worqr:leasedWorkers                   set     workers of ours that have a timer
//	worqr:registrations                   hash    worker of ours -> random registration
//	worqr:workingProcesses:<w>:<q>        set     processes of w on q
//	worqr:startedProcesses:<w>:<q>        hash    process -> its number, and the lock it owns
//	worqr:voidedProcesses:<w>             set     processes that must not start any more, 10 minutes
//	worqr:sequence                        string  number of the last task that was started
//	worqr:knownQueues                     set     the registry of queues
//	worqr:uniqueTasks:<q>:<sha1>          string  lock of a unique task: its owner
//	worqr:uniqueWaiting:<q>               hash    sha1 -> copies before it, and the owner
//	worqr:cancelledTasks:<q>              zset    sha1 -> sequence when it was cancelled
//	worqr:lanes:<id>                      string  last call of a producer and its answer, 10 minutes
//	worqr_<q>_work, _done, _cancel, _delete       channels                                   shared
//
// # Sharing queues with the released program
//
// Tasks, counts, and the four events go both ways, producers and workers may be of either kind. Released programs fail
// every worker of expiringWorkers whose timer is gone, with all processes of its queues, whoever holds them. So ours
// are never in that set: to those programs they are permanent workers. Ours fail only workers of leasedWorkers and
// their own permanent ones.
//
// What cannot be shared, and why:
//   - Processes. Ours put back and end only their own, since a released worker does not note which are its own:
//     MatchingProcesses names those without a worker. The released stopProcess and finishProcess act on whatever
//     process they are given, without a word to its worker. One of ours says [ErrProcessGone] then, at once when it is
//     to be finished or stopped; else its context ends with the second heartbeat that does not find it. Until then two
//     may work on a task that was put back. If a finish was not answered and is sent again, gone means done, which it
//     then need not be.
//   - Failing a worker. The released failWorker removes the worker, one of ours too, and puts back what released
//     workers hold of its queues, whoever of them that is. It does not know what one of ours holds; ours find that: a
//     worker that is alive starts anew within a heartbeat ([Lapsed]), one that is dead is taken apart by the next
//     cleanup of a client of this package, of which one has to run. [Client.FailWorker] refuses released workers, since
//     nobody knows what they hold.
//   - Word of tasks that come back. The released program publishes nothing when it stops a process or work, fails a
//     worker or cleans up, so idle workers are not told. [Client.Serve] looks by itself, after Options.LookEvery; who
//     works by events may call [Client.RequestWork] now and then.
//   - The order of tasks that come back. The released program puts them at the back of the queue, ours at the front, as
//     the description of Worqr has it.
//   - Handlers of a cancellation as in the released program's example: they put every process of the task back, ours
//     too, although it was cancelled. A worker of ours that hears of the cancellation only then takes a copy out of the
//     queue again for each process that it has lost so. One that another worker has taken meanwhile is out of its reach
//     and runs again, as does that of a worker which died before it heard. It cannot tell the copy that came back from
//     one of the same bytes that was enqueued since, so it takes that one if the process had been stopped before the
//     cancellation, and less than two heartbeats before the worker heard of it.
//   - A cancellation by the released program ends running copies of those workers that hear it, by its message alone:
//     it leaves no mark, so one that is put back at that moment is not known to be cancelled. Nor does it end copies of
//     a task that ours have cancelled before they were started, within Options.CancelledFor: its message cannot be told
//     from that one, come late.
//   - Unique locks. Theirs are named by the task alone and without an owner, so that one queue's task locks another's;
//     each side sees its own only, and frees its own only. A released program leaks the lock of a unique task of ours
//     by finishing the task, by cancelling it, by putting it back, by deleting the queue in which it waits, and by
//     taking a copy that waits in front of it: the copies are counted, and ours is then taken for a plain one.
//     [Client.CancelTasks] of the task frees the lock. A task of theirs that ours finish, cancel or delete keeps their
//     lock likewise.
//   - The registry. A queue that only released programs have used is not in Queues until ours enqueue to it or work on
//     it: they keep no list, and finding queues by KEYS looks at every key in Redis.
//   - Names. The released program finds the queue of a message behind the first underscore of its channel, so with a
//     prefix that has one it hears of queues that there are not. It cuts keys at colons: with a prefix that has one it
//     finds neither queues nor processes, and of a queue whose name has one it lists the first part, and finds no
//     processes.
//   - A result that is false, 0, "" or null: the released program tells none then, ours tell all but null.
//   - Bytes that are no text: in the JSON of a done event they are replaced for the released program, since JSON cannot
//     have them; ours read them from two more fields, taskBase64 and resultBase64.
//   - Redis Cluster: the layout has no hash tags, so all keys must be in one node.
package worqr
