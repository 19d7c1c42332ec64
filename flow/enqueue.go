package flow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/objects"
)

// rule is what becomes of a job when one that it waits for has not ended well.
type rule = flowdb.Rule

const (
	ruleCancel = flowdb.RuleCancel
	ruleEven   = flowdb.RuleEven
	ruleHold   = flowdb.RuleHold
)

// The names of what runs at the end, beside the members.
const (
	atDone  = "@done"
	atDeath = "@dead"
)

// Receipt says what was stored.
type Receipt struct {
	ID        string // of the flow
	Jobs      int    // how many members it has
	Duplicate bool   // a flow of that id is there already, and nothing was stored
}

// Enqueue stores a flow, all of it or nothing that would run. Each call to Redis is sent again until it is answered, as
// long as there is time: until ctx ends, and 10 s at the most. After an error that may be a lost answer it can be
// called again, with the same flow or an equal one of that id: what is stored is stored once, and the Receipt may say
// Duplicate. The [work.EnqueueMiddleware] of enq gets all jobs at once, see [StoringFromContext]; options of
// [work.Enqueuer.With] do not count.
//
// A mistake in the flow is a *[work.InvalidError] that names it: a circle, a member twice, a job of another flow.
func Enqueue(ctx context.Context, enq *work.Enqueuer, f *Flow) (Receipt, error) {
	if err := f.check(); err != nil {
		return Receipt{}, err
	}
	return f.passAll(ctx, enq, func(ctx context.Context, f *Flow) (Receipt, error) { return f.store(ctx, enq) })
}

// store stores the flow that was checked.
func (f *Flow) store(ctx context.Context, enq *work.Enqueuer) (Receipt, error) {
	parts, err := f.parts(ctx, enq)
	if err != nil {
		return Receipt{}, err
	}
	s := newStoring(enq, f, f.keeping(enq))
	var all []flowdb.Member
	for i := range parts {
		all = append(all, parts[i].members...)
	}
	if err := checkLocks(parts); err != nil {
		return Receipt{}, err
	}
	if err := s.settle(ctx, all); err != nil {
		return Receipt{}, err
	}
	err = s.store(ctx, parts[0].members, parts[0].edges)
	if err == nil {
		err = s.storeInner(ctx, parts[1:])
	}
	if vanished := new(objects.VanishedError); asLockError(err) != nil || errors.As(err, &vanished) {
		s.withdraw(ctx)
	}
	if err != nil {
		return Receipt{}, err
	}
	return s.seal(ctx, len(f.jobs), f.queuesAtOnce())
}

// keeping is how the flow is kept.
func (f *Flow) keeping(enq *work.Enqueuer) flowdb.Keeping {
	return flowdb.Keeping{ID: f.ID(), Keep: f.keep, Listed: true, Digest: f.digest(enq)}
}

// store stores all of a flow, but does not seal it.
func (s *storing) store(ctx context.Context, members []flowdb.Member, edges []flowdb.Edge) error {
	for len(members)+len(edges) > 0 && !s.sealed {
		n := fitting(members)
		m := min(len(edges), flowdb.MaxPart-n)
		if err := s.part(ctx, members[:n], edges[:m]); err != nil {
			return err
		}
		members, edges = members[n:], edges[m:]
	}
	return nil
}

// storeInner stores the flows that are in the one that is being stored, and has them held: the innermost first, as each
// is stored only while that which it is in is not sealed. Two that store the same find them as they are.
func (s *storing) storeInner(ctx context.Context, inner []parts) error {
	if s.sealed {
		return nil
	}
	all := make([]*storing, len(inner))
	for i, of := range inner {
		one := &storing{enq: s.enq, place: s.place, keeping: of.flow.keeping(s.enq)}
		one.keeping.Token = s.keeping.Token
		if err := one.store(ctx, of.members, of.edges); err != nil {
			return err
		}
		all[i] = one
	}
	for i, one := range slices.Backward(all) {
		if err := one.hold(ctx, len(inner[i].flow.jobs)); err != nil {
			return err
		}
	}
	return nil
}

// fitting is how many of the members one call stores.
func fitting(members []flowdb.Member) int {
	bytes := 0
	for n := range min(len(members), flowdb.MaxPart) {
		if bytes += len(members[n].Record); bytes > maxPartBytes && n > 0 {
			return n
		}
	}
	return min(len(members), flowdb.MaxPart)
}

// digest tells whether another flow of this id is the same one. Sealed args do not count, unless the digest of them can
// be a keyed one: who may read it could guess them.
func (f *Flow) digest(enq *work.Enqueuer) string {
	if f.known != "" {
		return f.known
	}
	hash := sha256.New()
	add := func(entry *work.Entry) {
		args, err := json.Marshal(entry.Args)
		if codecs := inside.Codecs(enq, entry.Name); codecs.Encodes() {
			sum, unkeyed := codecs.Hash(args)
			if sum != nil || unkeyed != nil {
				args = sum
			}
		}
		fmt.Fprintf(hash, "%q %s %v\n", entry.Name, args, err)
	}
	for _, j := range f.jobs {
		fmt.Fprintf(hash, "%q\n", j.name)
		if j.inner != nil {
			fmt.Fprintln(hash, j.inner.digest(enq))
		} else {
			add(&j.entry)
		}
		for _, e := range j.after {
			fmt.Fprintf(hash, "%q %s\n", e.from.name, e.rule)
		}
	}
	for _, end := range []*work.Entry{f.onDone, f.onDeath} {
		if end != nil {
			add(end)
		}
		fmt.Fprintln(hash)
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

// parts are what is stored of a flow.
type parts struct {
	flow    *Flow
	members []flowdb.Member
	edges   []flowdb.Edge
}

// parts are what is stored of the flow, and then of those that are in it: each behind the one that it is in.
func (f *Flow) parts(ctx context.Context, enq *work.Enqueuer) ([]parts, error) {
	members, edges, err := f.laidOut(ctx, enq)
	all := []parts{{f, members, edges}}
	for _, j := range f.jobs {
		if err == nil && j.inner != nil {
			var inner []parts
			inner, err = j.inner.parts(ctx, enq)
			all = append(all, inner...)
		}
	}
	return all, err
}

// laidOut are the members and edges as they are stored.
func (f *Flow) laidOut(ctx context.Context, enq *work.Enqueuer) (members []flowdb.Member, edges []flowdb.Edge,
	err error) {
	id := f.ID()
	next, waited := map[*Job][]string{}, map[*Job]bool{}
	var last []string
	for _, end := range []*work.Entry{f.onDone, f.onDeath} {
		if end != nil {
			last = append(last, queueOf(end))
		}
	}
	for _, j := range f.jobs {
		for _, e := range j.after {
			waited[e.from] = true
			if j.inner == nil {
				next[e.from] = append(next[e.from], queueOf(&j.entry))
			}
			edges = append(edges, flowdb.Edge{From: e.from.name, To: j.name, Rule: e.rule})
		}
	}
	for _, j := range f.jobs {
		if j.inner != nil {
			members = append(members, flowdb.Member{Name: j.name, Free: len(j.after) == 0})
			continue
		}
		m, err := member(enq, spot{flow: id, name: j.name, leaf: !waited[j]}, j.entry, hints(next[j], last))
		if err != nil {
			return nil, nil, err
		}
		if err := accepted(ctx, enq, &m); err != nil {
			return nil, nil, err
		}
		m.Free = len(j.after) == 0
		members = append(members, m)
	}
	ends, err := endings(enq, f)
	for i := range ends {
		if err == nil {
			err = accepted(ctx, enq, &ends[i])
		}
	}
	return append(members, ends...), edges, err
}

// accepted refuses what the Enqueuer would refuse: a name that is not known, args that do not fit the handler.
func accepted(ctx context.Context, enq *work.Enqueuer, m *flowdb.Member) error {
	r, err := record.Decode(m.Record)
	if err != nil {
		return err
	}
	refusal, err := inside.Accepts(ctx, enq, r.Name, r.Args)
	if refusal != nil {
		return refusal
	}
	return err
}

// endings are the jobs that run at the end.
func endings(enq *work.Enqueuer, f *Flow) (ends []flowdb.Member, err error) {
	for i, entry := range []*work.Entry{f.onDone, f.onDeath} {
		if entry == nil {
			continue
		}
		m, err := atEnd(enq, f.ID(), []string{atDone, atDeath}[i], *entry)
		if err != nil {
			return nil, err
		}
		ends = append(ends, m)
	}
	return ends, nil
}

// atEnd prepares a job that runs at the end.
func atEnd(enq *work.Enqueuer, flow, name string, entry work.Entry) (flowdb.Member, error) {
	m, err := prepare(enq, flow+"/"+name, entry, func(*record.Record) {})
	if err == nil && m.Terms.Special() {
		err = mistake("job "+brief(entry.Name)+" at the end of flow "+brief(flow), "given a time, a key, or Unique",
			"leave it out, or have that job enqueue another one")
	}
	m.Name = name
	return m, err
}

// maxHints is how many names of queues a record has. Jobs of others become ready a round trip later.
const maxHints = 8

// hints are names of queues, each once.
func hints(next, last []string) []string {
	all := slices.Concat(last, next)
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), maxHints)]
}

// queuesAtOnce are the queues of jobs that wait for nobody.
func (f *Flow) queuesAtOnce() (names []string) {
	for _, j := range f.jobs {
		if len(j.after) == 0 && j.inner == nil {
			names = append(names, queueOf(&j.entry))
		}
	}
	return hints(names, nil)
}

// spot is which job of which flow one is.
type spot struct {
	flow, name string
	leaf       bool // no other waits for it
}

// member prepares a member to be stored.
func member(enq *work.Enqueuer, at spot, entry work.Entry, next []string) (flowdb.Member, error) {
	m, err := prepare(enq, at.flow+"/"+at.name, entry, func(r *record.Record) {
		r.Flow, r.Next, r.Leaf = at.flow, next, at.leaf
	})
	m.Name = at.name
	m.Lodged = lodged(enq, at, entry)
	return m, err
}

// prepare checks and encodes a job with that id.
func prepare(enq *work.Enqueuer, id string, entry work.Entry, extend func(*record.Record)) (m flowdb.Member,
	err error) {
	if err := plain(&entry); err != nil {
		return m, err
	}
	entry.Options = append(slices.Clone(entry.Options), work.ID(id))
	job, err := inside.Prepare(entry, enq)
	if err != nil {
		return m, err
	}
	r, err := record.Decode(job.Record)
	if err != nil {
		return m, fmt.Errorf("job %s: %w", brief(entry.Name), err)
	}
	if job.Lock.Digest != "" && r.Lock == "" {
		return m, mistake("job "+brief(entry.Name)+" of a flow", "given Once",
			"leave it out, or use Unique: the flow is there once, by its id")
	}
	r.Given = false // its flow binds it
	extend(&r)
	m = flowdb.Member{Queue: r.Queue(), Record: r.Append(nil), Terms: flowdb.Terms{Lock: job.Lock, Turn: job.Turn},
		Objects: job.Objects}
	switch {
	case job.Place != rdb.At:
	case entry.At.IsZero():
		m.Terms.In = entry.In
	default:
		m.Terms.Due = job.When
	}
	return m, nil
}

// queueOf is the queue of a job: its name, with what it needs.
func queueOf(entry *work.Entry) string { return needs.Queue(entry.Name, entry.Settings().Needs) }

// plain refuses what belongs to a job that is enqueued by itself.
func plain(entry *work.Entry) error {
	s := entry.Settings()
	refused := func(value string) error {
		return mistake("job "+brief(entry.Name)+" of a flow", value,
			"leave it out: it is enqueued when its flow lets it")
	}
	switch {
	case s.ID != "":
		return mistake("job "+brief(entry.Name)+" of a flow", "given an id",
			"leave it out: its id is that of the flow, a slash and its name; see Named")
	case s.Front:
		return refused("given Front")
	case s.Replicas > 0:
		return refused("given WaitReplicas")
	}
	return lockTerms(entry)
}
