package worqr_test

import (
	"crypto/md5" // the released program names its locks by it; it protects nothing
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// released sends what the released program (1.2.3) sends, command by command, over a connection of its own, because
// MULTI and WATCH belong to a connection. testdata has what the program itself was seen to send.
type released struct {
	*site
	conn redis.Conn
	sent *[]string
}

func newReleased(s *site) released {
	s.t.Helper()
	conn, err := redis.Dial("tcp", s.server.Addr())
	require.NoError(s.t, err)
	s.t.Cleanup(func() { assert.NoError(s.t, conn.Close()) })
	return released{site: s, conn: conn, sent: new([]string)}
}

// command is a command with its arguments.
type command []any

func (r released) do(c command) any {
	r.t.Helper()
	words := make([]string, len(c))
	for i := range c {
		words[i] = strings.ReplaceAll(fmt.Sprint(c[i]), r.prefix, "p")
	}
	*r.sent = append(*r.sent, strings.TrimSpace(strings.Join(words, " ")))
	reply, err := r.conn.Do(c[0].(string), c[1:]...)
	require.NoError(r.t, err, "%v", c)
	return reply
}

// multi runs the commands in one transaction. It answers with nothing if a watched key has changed.
func (r released) multi(commands ...command) []any {
	r.t.Helper()
	r.do(command{"MULTI"})
	for _, c := range commands {
		require.Equal(r.t, "QUEUED", r.do(c), "%v", c)
	}
	replies, _ := r.do(command{"EXEC"}).([]any)
	return replies
}

func (r released) channel(queue, event string) string { return r.prefix + "_" + queue + "_" + event }

func (r released) lock(task string) string {
	sum := md5.Sum([]byte(task)) // see above
	return r.key("uniqueTasks:%s", hex.EncodeToString(sum[:]))
}

func (r released) enqueue(queue string, tasks ...string) {
	push := command{"LPUSH", r.key("queues:%s", queue)}
	for _, task := range tasks {
		push = append(push, task)
	}
	r.multi(push, command{"PUBLISH", r.channel(queue, "work"), len(tasks)})
}

// enqueueUnique answers whether the task was put in. Meanwhile is run between the look at the lock and the transaction.
func (r released) enqueueUnique(queue, task string, meanwhile func()) bool {
	r.do(command{"WATCH", r.lock(task)})
	if r.do(command{"GET", r.lock(task)}) != nil {
		return false // the watch stays, and the next transaction fails if that task is finished meanwhile
	}
	if meanwhile != nil {
		meanwhile()
	}
	return r.multi(
		command{"SET", r.lock(task), " "},
		command{"LPUSH", r.key("queues:%s", queue), task},
		command{"PUBLISH", r.channel(queue, "work"), 1},
	) != nil
}

// startWorker starts a worker with a timer, and its work on the queues.
func (r released) startWorker(w string, queues ...string) {
	r.multi(
		command{"SADD", r.key("workers"), w},
		command{"SADD", r.key("expiringWorkers"), w},
		command{"SET", r.key("workerTimers:%s", w), "RUN", "EX", 30},
	)
	for _, queue := range queues {
		r.startWork(w, queue)
	}
}

func (r released) startPermanentWorker(w string) {
	r.multi(command{"SADD", r.key("workers"), w}, command{"SADD", r.key("permanentWorkers"), w})
}

func (r released) startWork(w, queue string) {
	require.Equal(r.t, int64(1), r.do(command{"SISMEMBER", r.key("workers"), w}))
	r.do(command{"SADD", r.key("workingQueues:%s", w), queue})
	r.requestWork(queue)
}

// keepAlive answers whether the worker was alive; one that was not is failed.
func (r released) keepAlive(w string) bool {
	alive := r.do(command{"SET", r.key("workerTimers:%s", w), "RUN", "EX", 30, "XX"}) != nil
	if !alive {
		r.failWorker(w)
	}
	return alive
}

// dequeue returns what it took, or "" if there was nothing or the worker does not work on the queue.
func (r released) dequeue(w, queue, uuid string) (process, task string) {
	if r.do(command{"SISMEMBER", r.key("workingQueues:%s", w), queue}) != int64(1) {
		return "", ""
	}
	process = queue + "_" + uuid
	replies := r.multi(
		command{"RPOPLPUSH", r.key("queues:%s", queue), r.key("processes:%s", process)},
		command{"SADD", r.key("workingProcesses:%s", queue), process},
	)
	if replies[0] == nil {
		r.multi(append(r.back([]string{process}), command{"SREM", r.key("workingProcesses:%s", queue), process})...)
		return "", ""
	}
	return process, text(replies[0])
}

func (r released) stop(process string) {
	r.multi(
		command{"RPOPLPUSH", r.key("processes:%s", process), r.key("queues:%s", queueOf(process))},
		command{"SREM", r.key("workingProcesses:%s", queueOf(process)), process},
	)
}

// finish tells a result, which is JSON of any kind, or "" for none.
func (r released) finish(w, process, result string) {
	task := texts(r.do(command{"LRANGE", r.key("processes:%s", process), 0, -1}))[0]
	r.multi(
		command{"DEL", r.lock(task)},
		command{"DEL", r.key("processes:%s", process)},
		command{"SREM", r.key("workingProcesses:%s", queueOf(process)), process},
	)
	if result != "" {
		result = `,"result":` + result
	}
	r.do(command{"PUBLISH", r.channel(queueOf(process), "done"),
		fmt.Sprintf(`{"workerId":%q,"task":%q%s}`, w, task, result)})
}

func (r released) cancel(queue, task string) {
	r.multi(command{"LREM", r.key("queues:%s", queue), 0, task}, command{"PUBLISH", r.channel(queue, "cancel"), task})
}

func (r released) deleteQueue(queue string) {
	r.multi(command{"DEL", r.key("queues:%s", queue)}, command{"PUBLISH", r.channel(queue, "delete"), ""})
}

// failWorker is what the program does to a worker, its own or any other: it believes that all processes of the queues
// are that worker's.
func (r released) failWorker(w string) {
	queues := r.members("workingQueues:" + w)
	commands := []command{
		{"SREM", r.key("workers"), w}, {"SREM", r.key("expiringWorkers"), w}, {"SREM", r.key("permanentWorkers"), w},
		{"DEL", r.key("workerTimers:%s", w)}, {"DEL", r.key("workingQueues:%s", w)},
	}
	var processes []string
	for _, queue := range queues {
		processes = append(processes, r.members("workingProcesses:"+queue)...)
		commands = append(commands, command{"DEL", r.key("workingProcesses:%s", queue)})
	}
	r.multi(append(commands, r.back(processes)...)...)
}

// back are the commands that put processes back.
func (r released) back(processes []string) (commands []command) {
	for _, process := range processes {
		commands = append(commands,
			command{"RPOPLPUSH", r.key("processes:%s", process), r.key("queues:%s", queueOf(process))},
			command{"DEL", r.key("processes:%s", process)})
	}
	return commands
}

func (r released) members(key string) []string {
	return texts(r.do(command{"SMEMBERS", r.key("%s", key)}))
}

func queueOf(process string) string { return process[:strings.LastIndexByte(process, '_')] }

func (r released) stopWork(w, queue string) {
	processes := r.members("workingProcesses:" + queue) // whoever holds them
	r.multi(append([]command{
		{"SREM", r.key("workingQueues:%s", w), queue}, {"DEL", r.key("workingProcesses:%s", queue)},
	}, r.back(processes)...)...)
}

// cleanup is what every instance does every ten seconds.
func (r released) cleanup() {
	for _, w := range texts(r.do(command{"SMEMBERS", r.key("expiringWorkers")})) {
		if len(texts(r.do(command{"KEYS", r.key("workerTimers:%s", w)}))) == 0 {
			r.failWorker(w)
		}
	}
}

// matching are the processes that have the task, of whatever queue and worker.
func (r released) matching(task string) (processes []string) {
	for _, key := range texts(r.do(command{"KEYS", r.key("processes*")})) {
		process := strings.Split(strings.TrimPrefix(key, r.prefix), ":")[2]
		if held := r.do(command{"LINDEX", r.key("processes:%s", process), 0}); held != nil && text(held) == task {
			processes = append(processes, process)
		}
	}
	return processes
}

// hearCancel is what the worker that the program ships as its example does with the message: it puts all back.
func (r released) hearCancel(task string) {
	for _, process := range r.matching(task) {
		r.stop(process)
	}
}

func (r released) requestWork(queue string) {
	if count := r.count(queue); count > 0 {
		r.do(command{"PUBLISH", r.channel(queue, "work"), count})
	}
}

func (r released) queues() []string { return texts(r.do(command{"KEYS", r.key("queues*")})) }

func (r released) workers() []string { return r.members("workers") }

func (r released) peek(queue string) string {
	return text(r.do(command{"LINDEX", r.key("queues:%s", queue), -1}))
}

func (r released) count(queue string) int64 {
	return r.do(command{"LLEN", r.key("queues:%s", queue)}).(int64)
}

// tasks are those of a queue, the one at the back first.
func (r released) tasks(queue string) []string {
	return texts(r.do(command{"LRANGE", r.key("queues:%s", queue), 0, -1}))
}
