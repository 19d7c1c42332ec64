package rdb

import (
	"strings"
	"sync"

	"github.com/265d0351/work/internal/needs"
)

// keys makes the names of all keys of one namespace. The namespace stands in braces, so that on a cluster all its keys
// are in one slot and a script may touch any of them.
type keys struct {
	prefix string

	jobs, trail, queues, ready, scheduled, retry, names, morgue              string
	outcomes, outcomesUntil, workers, dead, claimed, crashes, deaths, served string
	lanes, lease, deputy, deadlines, epoch, control                          string
	schedules, ticks, revision                                               string
	limits, cancelled, waited, done, stalled, unique, errors, objects, home  string
	layout, stopped, stoppedInfo, doomed, partitions                         string
	frozen, departed, stragglers, foreign, tracked, mover, pauses, hints     string
	turns, passes, turning, keyed, parked, holding, keyrules, pacing, waking string
	mailed                                                                   string

	byQueue sync.Map // name -> *queueKeys: made once, since every fetch and every enqueue needs them
}

// queueKeys are the keys of one queue. Queues of one name, whose jobs need other labels, share its limits: running and
// rate are those of the name.
type queueKeys struct {
	queue, wake, running, rate string

	plain []string // of job/enqueue
}

// appendTo adds the keys that a script needs to know whether jobs of the queue may begin, and to say that some wait.
func (q *queueKeys) appendTo(keys []string) []string {
	return append(keys, q.queue, q.wake, q.running, q.rate)
}

func newKeys(namespace string) *keys {
	p := "{" + namespace + "}:"
	return &keys{
		prefix: p,
		jobs:   p + "jobs", trail: p + "trail", queues: p + "queues", ready: p + "ready",
		scheduled: p + "scheduled", retry: p + "retry", names: p + "names", morgue: p + "morgue",
		outcomes: p + "outcomes", outcomesUntil: p + "outcomes:until",
		workers: p + "workers", dead: p + "dead", claimed: p + "claimed", crashes: p + "crashes", deaths: p + "deaths",
		served: p + "served",
		lanes:  p + "lanes", lease: p + "lease", deputy: p + "deputy", deadlines: p + "deadlines",
		epoch: p + "epoch", control: p + "control",
		schedules: p + "schedules", ticks: p + "ticks", revision: p + "schedules:revision",
		limits: p + "limits", cancelled: p + "cancelled", waited: p + "waited", done: p + "done", stalled: p +
			"stalled",
		unique: p + "unique", errors: p + "errors", objects: p + "objects", home: p + "home",
		layout: p + "layout", stopped: p + "stopped", stoppedInfo: p + "stopped:info", doomed: p + "doomed",
		partitions: p + "map",
		frozen:     p + "frozen", departed: p + "departed", stragglers: p + "stragglers", foreign: p + "foreign",
		tracked: p + "tracked", mover: p + "mover", pauses: p + "pauses", hints: p + "hints",
		turns: p + "turns", passes: p + "passes", turning: p + "turning", keyed: p + "keyed",
		parked: p + "parked", holding: p + "holding", keyrules: p + "keyrules", pacing: p + "pacing",
		waking: p + "waking", mailed: p + "mailed",
	}
}

func (k *keys) queue(name string) *queueKeys {
	if known, ok := k.byQueue.Load(name); ok {
		return known.(*queueKeys)
	}
	ruled := needs.Name(name)
	own := &queueKeys{
		queue: k.prefix + "queue:" + name, wake: k.prefix + "wake:" + name,
		running: k.prefix + "running:" + ruled, rate: k.prefix + "rate:" + ruled,
	}
	own.plain = own.appendTo(append(make([]string, 0, 9), k.lanes, k.jobs, k.queues, k.ready, k.limits))
	made, _ := k.byQueue.LoadOrStore(name, own)
	return made.(*queueKeys)
}

// lines adds the keys of all that waits by turns, in the order in which scripts have them: see lines_at in the prelude.
func (k *keys) lines(keys []string) []string {
	return append(keys, k.turns, k.passes, k.turning, k.keyed, k.parked, k.holding, k.keyrules, k.pacing, k.waking,
		k.ready)
}

func (k *keys) namespace() string { return strings.TrimSuffix(strings.TrimPrefix(k.prefix, "{"), "}:") }

func (k *keys) shelf(shelf Shelf) string      { return k.prefix + string(shelf) }
func (k *keys) log(id string) string          { return k.prefix + "log:" + id }
func (k *keys) state(id string) string        { return k.prefix + "state:" + id }
func (k *keys) steps(id string) string        { return k.prefix + "steps:" + id }
func (k *keys) mail(id string) string         { return k.prefix + "mail:" + id }
func (k *keys) question(token string) string  { return k.prefix + "question:" + token }
func (k *keys) completion(name string) string { return k.prefix + "completion:" + name }

func (k *keys) answer(token, worker string) string {
	return k.prefix + "answer:" + token + ":" + worker
}

// ended are the keys of jobs of a name that have ended in a state: which ones, and the details of each. What they
// needed makes no difference any more.
func (k *keys) ended(state, queue string) (ids, details string) {
	name := needs.Name(queue)
	return k.prefix + "ended:" + state + ":" + name, k.prefix + "details:" + state + ":" + name
}

// workerKeys are the keys of one worker.
type workerKeys struct {
	heart, queues, info, running, taken string
	inprocessPrefix                     string
	byQueue                             sync.Map // name -> string
}

func (k *keys) worker(id string) *workerKeys {
	p := k.prefix + "worker:" + id
	return &workerKeys{
		heart: p, queues: p + ":queues", info: p + ":info", running: p + ":running", inprocessPrefix: p + ":inprocess:",
		taken: k.prefix + "taken:" + id,
	}
}

func (w *workerKeys) inprocess(queue string) string {
	if known, ok := w.byQueue.Load(queue); ok {
		return known.(string)
	}
	made, _ := w.byQueue.LoadOrStore(queue, w.inprocessPrefix+queue)
	return made.(string)
}
