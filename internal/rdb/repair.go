package rdb

import (
	"cmp"
	"context"
	"crypto/sha1" // to tell whether a record is still the same; it protects nothing
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	renameBrokenScript      = redisconn.Load("repair/rename_broken")
	agreePlacesScript       = redisconn.Load("repair/agree_places")
	removeUnfetchableScript = redisconn.Load("repair/remove_unfetchable")
	removeDuplicateScript   = redisconn.Load("repair/remove_duplicate")
	requeueLostScript       = redisconn.Load("repair/requeue_lost")
	agreeClaimScript        = redisconn.Load("repair/agree_claim")
	removeWorkerScript      = redisconn.Load("repair/remove_worker")
	agreeIndexesScript      = redisconn.Load("repair/agree_indexes")
	removeJoblessScript     = redisconn.Load("repair/remove_jobless")
	agreeOutcomesScript     = redisconn.Load("repair/agree_outcomes")
	agreeDetailsScript      = redisconn.Load("repair/agree_details")
	limitLifeScript         = redisconn.Load("repair/limit_life")
	removeClaimScript       = redisconn.Load("repair/remove_claim")
)

// Reach is how far from the ends of a queue an id is looked for: all of it in one script would hold Redis for too long.
const Reach = 10_000

// Mender finds and mends what contradicts itself in a namespace, each time by one script that decides by what is there
// at that moment. Where Mend is false, the same scripts only look.
type Mender struct {
	Store *Store
	Mend  bool
	Reach int // 0 is [Reach]
}

func (m Mender) reach() int {
	if m.Reach == 0 {
		return Reach
	}
	return m.Reach
}

// RenameBroken renames a key that has a wrong type to one that says so. It answers whether the type was wrong (and the
// key is renamed, where it mends).
func (m Mender) RenameBroken(ctx context.Context, key Key, want string, at time.Time) (to string, done bool,
	err error) {
	to = key.Name + brokenMark + strconv.FormatInt(at.UnixMilli(), 10)
	if !m.Mend {
		return to, false, nil
	}
	value, err := redisconn.Do(ctx, m.Store.driver, redisconn.Call{
		Script: renameBrokenScript, Keys: []string{m.Store.FullName(key.Name), m.Store.FullName(to)}, Args: []any{want},
	})
	return to, value == int64(1), err
}

const brokenMark = ":broken:"

// RenamedBroken tells whether a key is one that RenameBroken made.
func RenamedBroken(name string) bool {
	at := strings.LastIndex(name, brokenMark)
	if at < 0 {
		return false
	}
	stamp := name[at+len(brokenMark):]
	_, err := strconv.ParseInt(stamp, 10, 64)
	return err == nil && len(stamp) >= 13
}

// Fault is one thing that a script has to say about a job or a queue. The words are explained in the header of the
// script.
type Fault struct{ ID, What, Where string }

// Named is a job with the queue that its record names, empty where that is not known.
type Named struct{ ID, Queue string }

// AtOnce is how many jobs are examined with one round trip: it is several calls of a script, and Redis serves nobody
// else between those, so it is few.
const AtOnce = 4 * maxExamined

// AgreePlaces tells where up to [AtOnce] jobs stand, apart from queues, and mends what contradicts itself.
func (m Mender) AgreePlaces(ctx context.Context, jobs []Named) ([]Fault, error) {
	k := m.Store.keys
	var calls []redisconn.Call
	for part := range slices.Chunk(jobs, maxExamined) {
		args := append(make([]any, 0, 1+2*len(part)), m.Mend)
		for _, job := range part {
			args = append(args, job.ID, job.Queue)
		}
		calls = append(calls, redisconn.Call{
			Script: agreePlacesScript,
			Keys: []string{k.jobs, k.claimed, k.names, k.trail, k.crashes, k.scheduled, k.retry, k.morgue, k.stalled,
				k.turns, k.keyed, k.turning},
			Args: args,
		})
	}
	values, err := m.Store.many(ctx, calls)
	if err != nil {
		return nil, err
	}
	var faults []Fault
	for _, value := range values {
		r := redisconn.Read("repair/agree_places", value)
		for r.More() {
			faults = append(faults, Fault{ID: r.Text(), What: r.Text(), Where: r.Text()})
		}
		if r.Err() != nil {
			return nil, r.Err()
		}
	}
	return faults, nil
}

// QueueRemainder is a part of a queue.
type QueueRemainder struct {
	Length int
	IDs    []string
	Faults []Fault // Where is "1" for what was removed from the queue, "2" for what was removed from the shelf
}

// RemoveUnfetchable reads up to [AtOnce] ids of a queue, from its back, and removes what no fetch would take. Where it
// mends it reads less: what it removes moves what is behind it.
func (m Mender) RemoveUnfetchable(ctx context.Context, queue string, from int) (QueueRemainder, error) {
	k, parts := m.Store.keys, AtOnce/maxExamined
	if m.Mend {
		parts = 1
	}
	calls := make([]redisconn.Call, parts)
	for i := range calls {
		calls[i] = redisconn.Call{
			Script: removeUnfetchableScript,
			Keys: []string{k.queue(queue).queue, k.jobs, k.claimed, k.names, k.scheduled, k.retry, k.morgue,
				k.stalled, k.turns},
			Args: []any{m.Mend, from + i*maxExamined, maxExamined, m.reach()},
		}
	}
	values, err := m.Store.many(ctx, calls)
	if err != nil {
		return QueueRemainder{}, err
	}
	var whole QueueRemainder
	for _, value := range values {
		part, err := readRemainder(value)
		if err != nil {
			return QueueRemainder{}, err
		}
		whole.Length, whole.IDs, whole.Faults = part.Length, append(whole.IDs, part.IDs...),
			append(whole.Faults, part.Faults...)
	}
	return whole, nil
}

func readRemainder(value any) (QueueRemainder, error) {
	r := redisconn.Read("repair/remove_unfetchable", value)
	part := QueueRemainder{Length: int(r.Number()), IDs: r.Texts()}
	inner := r.List()
	for inner.More() {
		part.Faults = append(part.Faults,
			Fault{ID: inner.Text(), What: inner.Text(), Where: strconv.FormatInt(inner.Number(), 10)})
	}
	return part, r.Err()
}

// Twice is an id that seems to stand in two places of queues: how many ids were before it in each.
type Twice struct {
	ID   string
	From string // the queue from which it goes
	At   int
	// where it stays; the same as From if it stands twice in that one, and then the one nearest to the front stays
	Other string
	Stays int
}

// RemoveDuplicate removes an id that stands twice. It answers whether it did so, or would have, and whether [Removed]
// stands in its place.
func (m Mender) RemoveDuplicate(ctx context.Context, twice Twice) (was, replaced bool, err error) {
	k := m.Store.keys
	value, err := redisconn.Do(ctx, m.Store.driver, redisconn.Call{
		Script: removeDuplicateScript, Keys: []string{k.queue(twice.From).queue, k.queue(twice.Other).queue},
		Args: []any{m.Mend, twice.ID, twice.At, twice.Stays, MaxBatch, m.reach()},
	})
	return value == int64(1) || value == int64(2), value == int64(2), err
}

// Removed is what stands in a queue instead of an id that was removed far from its ends.
const Removed = ""

// LostJob is a job that seems to be in no place.
type LostJob struct {
	Named
	Digest string // of its record as it was read
	Sure   bool   // the middle of a long queue was looked through as well, time and again
}

// Digest tells records apart.
func Digest(record []byte) string {
	sum := sha1.Sum(record)
	return hex.EncodeToString(sum[:])
}

// RequeueLost gives jobs that are in no place to the front of their queues. It answers lost, placed or unsure for each.
func (m Mender) RequeueLost(ctx context.Context, jobs []LostJob) ([]string, error) {
	k := m.Store.keys
	calls := make([]redisconn.Call, len(jobs))
	for i, job := range jobs {
		of := k.queue(job.Queue)
		calls[i] = redisconn.Call{
			Script: requeueLostScript,
			Keys: []string{
				k.jobs, k.claimed, k.names, k.scheduled, k.retry, k.morgue, k.ready, k.queues, of.queue, of.wake,
				k.stalled, k.turns, k.turning, k.keyed,
			},
			Args: []any{m.Mend, job.ID, job.Queue, job.Digest, m.reach(), job.Sure},
		}
	}
	return m.answers(ctx, calls)
}

// AgreeClaims makes elements of in-process lists and the index of claims agree. It answers ok, unclaimed, elsewhere,
// ghost or stray for each.
func (m Mender) AgreeClaims(ctx context.Context, elements []Element) ([]string, error) {
	k := m.Store.keys
	calls := make([]redisconn.Call, len(elements))
	for i, e := range elements {
		worker, of := k.worker(e.Worker), k.queue(e.Queue)
		list, other, otherElement := worker.inprocess(e.Queue), worker.inprocess(e.Queue), ""
		if e.Claim.Queue != "" {
			other, otherElement = k.worker(e.Claim.Worker).inprocess(e.Claim.Queue), e.Claim.Element()
		}
		calls[i] = redisconn.Call{
			Script: agreeClaimScript,
			Keys: []string{
				list, k.claimed, k.jobs, k.workers, k.dead, worker.heart, k.scheduled, k.retry, k.morgue, k.ready,
				of.queue, of.wake, other, k.stalled, k.turns, k.turning, k.keyed,
			},
			Args: []any{m.Mend, e.Worker, e.Queue, e.text, e.Claim.raw, otherElement, m.reach()},
		}
	}
	return m.answers(ctx, calls)
}

// RemoveClaims removes claims that nobody holds, and gives their jobs back. It answers ok, back, elsewhere or ghost for
// each. It mends in any case: [Store.Unsupported] looks.
func (m Mender) RemoveClaims(ctx context.Context, claims []Holding) ([]string, error) {
	k := m.Store.keys
	calls := make([]redisconn.Call, len(claims))
	for i, h := range claims {
		of := k.queue(h.Queue)
		calls[i] = redisconn.Call{
			Script: removeClaimScript,
			Keys: []string{
				k.claimed, k.workers, k.dead, k.jobs, k.ready, k.scheduled, k.retry, k.morgue,
				k.worker(h.Worker).inprocess(h.Queue), of.queue, of.wake, k.worker(h.Worker).heart, k.stalled,
				of.running, k.turns, k.turning, k.keyed,
			},
			Args: []any{h.ID, h.raw, h.Worker, h.Element(), h.Queue, m.reach()},
		}
	}
	return m.answers(ctx, calls)
}

// Blocked is the answer of a script that met a key of a wrong type, and did nothing.
const Blocked = "blocked"

// answers makes calls that answer with one word each.
func (m Mender) answers(ctx context.Context, calls []redisconn.Call) ([]string, error) {
	answers := make([]string, 0, len(calls))
	for len(calls) > 0 {
		n := min(len(calls), maxPipeline)
		replies, err := m.Store.driver.Pipeline(ctx, calls[:n]...)
		if err != nil {
			return nil, err
		}
		for _, reply := range replies {
			var refused *redisconn.ServerError
			switch word := reply.Value.(type) {
			case []byte:
				answers = append(answers, string(word))
			default:
				if !errors.As(reply.Err, &refused) || refused.Code != "BADKEY" && refused.Code != "WRONGTYPE" {
					return nil, cmp.Or[error](reply.Err,
						&redisconn.UnexpectedReplyError{Script: calls[0].Script.Name, Reply: reply.Value})
				}
				answers = append(answers, Blocked)
			}
		}
		calls = calls[n:]
	}
	return answers, nil
}

// RemoveWorker removes the keys of a worker that nobody knows and that has no heartbeat, and answers how many there
// were.
func (m Mender) RemoveWorker(ctx context.Context, worker string) (int, error) {
	k, own := m.Store.keys, m.Store.keys.worker(worker)
	value, err := redisconn.Do(ctx, m.Store.driver, redisconn.Call{
		Script: removeWorkerScript, Keys: []string{k.workers, k.dead, own.heart, own.queues, own.info, own.running},
		Args: []any{m.Mend, worker},
	})
	n, _ := value.(int64)
	return int(n), err
}

// The names that some worker has served are remembered for three times as long as those of queues, and the last so many
// of them: about 10 MB.
const (
	servedLives = 3
	MostServed  = 100_000
)

// AgreeIndexes makes the indexes of queues agree with up to [MaxBatch]/2 queues, of which it is told whether a worker
// serves them, and forgets names that were neither seen with jobs nor served for that long (0: never).
func (m Mender) AgreeIndexes(ctx context.Context, queues []string, served func(string) bool,
	unseen time.Duration) ([]Fault, error) {
	k := m.Store.keys
	keys := append(make([]string, 0, 5+2*len(queues)), k.ready, k.queues, k.served, k.turns, k.turning,
		k.waking)
	args := append(make([]any, 0, 4+2*len(queues)), m.Mend, millis(unseen), millis(servedLives*unseen), MostServed)
	for _, name := range queues {
		of := k.queue(name)
		keys = append(keys, of.queue, of.wake)
		args = append(args, name, served(name))
	}
	value, err := redisconn.Do(ctx, m.Store.driver, redisconn.Call{Script: agreeIndexesScript, Keys: keys, Args: args})
	if err != nil {
		return nil, err
	}
	return faultPairs(agreeIndexesScript.Name, value)
}

// AgreeOutcomes makes outcomes and the times until which they are kept agree; an outcome without one is kept for that
// long.
func (m Mender) AgreeOutcomes(ctx context.Context, ids []string, keep time.Duration) ([]Fault, error) {
	k := m.Store.keys
	args := append(make([]any, 0, 2+len(ids)), m.Mend, millis(keep))
	for _, id := range ids {
		args = append(args, id)
	}
	value, err := redisconn.Do(ctx, m.Store.driver,
		redisconn.Call{Script: agreeOutcomesScript, Keys: []string{k.outcomes, k.outcomesUntil}, Args: args})
	if err != nil {
		return nil, err
	}
	return faultPairs(agreeOutcomesScript.Name, value)
}

// AgreeDetails makes the list of the jobs of a shelf and what is kept of them agree.
func (m Mender) AgreeDetails(ctx context.Context, of EndedShelf, ids []string) ([]Fault, error) {
	list, details := m.Store.keys.ended(of.State, of.Name)
	value, err := redisconn.Do(ctx, m.Store.driver, redisconn.Call{Script: agreeDetailsScript,
		Keys: []string{list, details}, Args: appendTexts([]any{m.Mend}, ids)})
	if err != nil {
		return nil, err
	}
	return faultPairs(agreeDetailsScript.Name, value)
}

func faultPairs(script string, value any) ([]Fault, error) {
	r := redisconn.Read(script, value)
	var faults []Fault
	for r.More() {
		faults = append(faults, Fault{ID: r.Text(), What: r.Text()})
	}
	return faults, r.Err()
}

// The answers of LimitLife.
const (
	LifeInBounds = iota
	LifeEndless  // it had no time to live
	LifeTooLong  // it had a longer one: Redis' clock was set back
)

// LimitLife gives a key that would stay for ever, or for longer than most, the time that it should have: a heartbeat
// ("worker:<id>"), the lease or the deputy's place.
func (m Mender) LimitLife(ctx context.Context, name string, life, most time.Duration) (int, error) {
	key := m.Store.keys.prefix + name
	value, err := redisconn.Do(ctx, m.Store.driver,
		redisconn.Call{Script: limitLifeScript, Keys: []string{key}, Args: []any{m.Mend, millis(life), millis(most)}})
	n, _ := value.(int64)
	return int(n), err
}
