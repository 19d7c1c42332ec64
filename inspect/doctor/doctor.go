// Package doctor examines a namespace while it is at work, tells what contradicts itself, and mends it where it is
// asked to. docs/doctor.md explains each check. It never changes what merely moves.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rights"
)

// Options says how a namespace is examined. The zero value looks and changes nothing.
type Options struct {
	Repair bool // mend what is found and can be mended

	// Limit bounds how many entries of each key are examined, of a queue those at its back; 0 is all. Whether a job is
	// lost is then known of queues only that are no longer than that. Diagnosis.Unread says how much was left out.
	Limit int

	// Patience is how long what may come right by itself is watched, 10 s where it is 0: longer than a fleet takes to
	// find and reap a dead worker.
	Patience time.Duration

	Progress func(done, total int) // called now and then with how many entries were looked at; may be nil
}

// defaultPatience is that of [Options].
const defaultPatience = 10 * time.Second

// Finding is one thing that is wrong.
type Finding struct {
	Check     Check    `json:"check"`
	Severity  Severity `json:"severity"`
	Partition int      `json:"partition,omitzero"` // in which it was found
	Key       string   `json:"key,omitempty"`      // in Redis, in full
	ID        string   `json:"id,omitempty"`       // of the job or of the worker
	Queue     string   `json:"queue,omitempty"`    // name of the job, and in brackets the labels that it needs
	Detail    string   `json:"detail"`             // what was found
	Remedy    string   `json:"remedy,omitempty"`   // what to do
	Repaired  bool     `json:"repaired"`           // it was put in order
}

// Diagnosis is what the doctor found.
type Diagnosis struct {
	// in the order in which they were found, at most 1,000 of each check
	Findings []Finding     `json:"findings"`
	More     map[Check]int `json:"more"`             // how many findings of a check are left out
	Jobs     int           `json:"jobs"`             // how many records there were at the beginning
	Queues   int           `json:"queues"`           // how many queues with jobs, of each partition
	Workers  int           `json:"workers"`          // how many workers were registered, in all partitions
	Unread   int           `json:"unread,omitempty"` // about how many entries were left out, by Options.Limit

	unmended bool // an error was left out that was not repaired
}

// Healthy tells whether there is no error left.
func (d *Diagnosis) Healthy() bool {
	return !d.unmended && !slices.ContainsFunc(d.Findings, func(f Finding) bool {
		return f.Severity == SeverityError && !f.Repaired
	})
}

// maxFindings bounds the memory that findings of one check take.
const maxFindings = 1000

// Examine examines the whole namespace while it is at work, in small steps that do not hold Redis up, and returns what
// is wrong. Nothing that merely moves is a finding: what looks wrong is confirmed by one script that sees all of it at
// once, or watched for some seconds where it may come right by itself. With Repair each fault is mended by the script
// that confirms it. It is an error when Redis cannot be asked; what was found until then is in the Diagnosis as well.
//
// It reads every record once and keeps about 40 bytes for each waiting job: see [Size] for how many
// entries that is, and Options.Limit for less. It walks over all keys of the database with SCAN, so a database
// that is shared with much else takes longer.
//
// Partitions are examined one after the other. Those that cannot be asked are told in an *[inspect.PartialError].
func Examine(ctx context.Context, i *inspect.Inspector, opts Options) (*Diagnosis, error) {
	of := inside.Inspector(i)
	e := &examination{of: of, opts: opts, diagnosis: &Diagnosis{More: map[Check]int{}}, seed: maphash.MakeSeed()}
	err := of.Unusable
	if err == nil && opts.Limit < 0 {
		err = &work.InvalidError{What: "Options.Limit", Value: strconv.Itoa(opts.Limit), Remedy: "use 0 for all"}
	}
	if err == nil {
		err = e.run(ctx)
	}
	if err != nil {
		err = fmt.Errorf("the doctor could not look at everything: %w", err)
	}
	return e.diagnosis, err
}

// Size is about how many entries [Examine] would look at now, with that Limit for each key: a record and
// an element of a queue are one each. It costs what [inspect.Inspector.Counts] does. 100,000 take Redis about a second.
// Partitions that cannot be asked count as empty, unless none can be.
func Size(ctx context.Context, i *inspect.Inspector, limit int) (int, error) {
	of := inside.Inspector(i)
	if of.Unusable != nil {
		return 0, of.Unusable
	}
	_ = of.Partitions.Refresh(ctx) // where it fails so does what follows
	total, asked, failed := 0, 0, error(nil)
	for n := range of.Partitions.Map().Len() {
		size, err := sizeOf(ctx, of.Partitions.Guarded(n), limit)
		if err != nil {
			failed = cmp.Or(failed, err)
			continue
		}
		total, asked = total+size, asked+1
	}
	if asked == 0 {
		return 0, fmt.Errorf("the size of the namespace cannot be read: %w", failed)
	}
	return total, nil
}

func sizeOf(ctx context.Context, store *rdb.Store, limit int) (total int, err error) {
	keys := make([]rdb.Key, len(walked))
	for n, name := range walked {
		keys[n] = rdb.Key{Name: name, Type: typeOf[name]}
	}
	sizes, err := store.Sizes(ctx, keys)
	if err == nil {
		var waiting []int
		waiting, err = store.Waiting(ctx)
		sizes = append(sizes, waiting...)
	}
	for _, size := range sizes {
		if limit > 0 {
			size = min(size, limit)
		}
		total += size
	}
	return total, err
}

func (e *examination) doctor(n int) *doctor {
	store := e.of.Partitions.Guarded(n)
	return &doctor{
		examination: e, partition: n,
		store: store, morgueLimit: e.of.MorgueLimit,
		patience: cmp.Or(e.opts.Patience, defaultPatience), repair: e.opts.Repair, progress: e.progress(),
		limit: e.opts.Limit, partly: map[string]bool{},
		look: rdb.Mender{Store: store}, mend: rdb.Mender{Store: store, Mend: e.opts.Repair},
		diagnosis: &Diagnosis{More: map[Check]int{}}, told: map[fact]bool{}, counts: map[Check]int{},
		broken: map[string]bool{}, renamed: map[string]bool{},
		explained: map[string]bool{}, claims: map[string][]rdb.Holding{}, seed: e.seed,
		waiting: map[uint64]int32{}, members: map[string]string{},
	}
}

// doctor is one examination of one partition.
type doctor struct {
	*examination
	partition   int
	store       *rdb.Store
	morgueLimit int
	patience    time.Duration
	repair      bool
	limit       int
	progress    func(done, total int)

	look, mend rdb.Mender // the second one mends only if it should

	diagnosis   *Diagnosis
	told        map[fact]bool
	counts      map[Check]int
	done, total int

	keys       inventory
	broken     map[string]bool // keys of a wrong type
	renamed    map[string]bool // new names of those that were set aside now
	registered map[string]bool // workers
	dead       map[string]bool
	served     map[string]bool          // names
	claims     map[string][]rdb.Holding // by worker: those that are not young, and that its list has
	explained  map[string]bool          // ids of jobs whose claim or element is a finding already
	seed       maphash.Seed             // ids are kept as hashes, since there may be millions
	waiting    map[uint64]int32         // id -> number of the queue in which it was seen
	seenTwice  seenTwice
	partly     map[string]bool   // queues that were not read to their ends
	strays     []stray           // jobs that may belong elsewhere
	members    map[string]string // of each flow that has members among the jobs: one of these
}

// fact is what makes two findings the same.
type fact struct {
	check          Check
	key, id, queue string
}

// examine goes on from what others rest upon to what rests on it, so that a repair finds what is before it in order.
func (d *doctor) examine(ctx context.Context) error {
	// where a job may be that has a record
	places := slices.Clip([]string{"jobs", "claimed", "scheduled", "retry", "morgue", "stalled", "turns"})
	steps := []struct {
		do    func(context.Context) error
		needs []string
	}{
		{d.checkServer, nil},
		{d.checkReplicas, nil},
		{d.checkKeys, nil},
		{d.readWorkers, []string{"workers", "dead"}},
		{d.checkElements, append(places, "workers", "dead", "ready")},
		{d.checkClaims, append(places, "workers", "dead", "ready")},
		{d.checkHeld, []string{"workers", "dead", "claimed", "jobs", "ready"}},
		{d.checkStrangers, []string{"workers", "dead"}},
		{d.checkQueues, append(places, "names")},
		{d.checkPlaces, append(places, "names", "trail", "crashes", "keyed", "turning")},
		{d.checkTurns, append(places, "foreign", "turning", "keyed", "parked", "holding", "keyrules", "passes",
			"waking")},
		{d.checkStrays, append(places, "stragglers")},
		{d.checkFlows, append(places, "flows", "flows:filling", "flows:busy", "flows:over", "flows:away")},
		{d.checkIndexes, []string{"ready", "queues", "turns", "turning"}},
		{d.checkFlags, []string{"jobs", "cancelled"}},
		{d.checkContents, []string{"jobs", "mailed", "frozen"}},
		{d.checkOutcomes, []string{"outcomes", "outcomes:until"}},
		{d.checkEnded, nil},
		{d.checkLanes, []string{"lanes"}},
		{d.checkMorgue, []string{"morgue"}},
		{d.watch, []string{"workers", "dead"}},
	}
	for _, step := range steps {
		if slices.ContainsFunc(step.needs, func(key string) bool { return d.broken[key] }) {
			continue // the broken key is a finding; what rests on it cannot be judged
		}
		if err := step.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// find notes a finding, once. Its severity and remedy are those of its check where it has none; what is repaired needs
// none, unless something is left to do.
func (d *doctor) find(f Finding) {
	f.Partition, f.Queue = d.partition, needs.Text(f.Queue)
	known := fact{f.Check, f.Key, f.ID, f.Queue}
	if d.told[known] {
		return
	}
	d.told[known] = true
	if f.Severity == "" {
		f.Severity = checks[f.Check].severity
	}
	if f.Repaired && f.Check == CheckGhost {
		f.Remedy = "its record is lost: if the job is still wanted enqueue it again"
	}
	if f.Remedy == "" && !f.Repaired {
		f.Remedy = checks[f.Check].remedy
	}
	if d.counts[f.Check]++; d.counts[f.Check] > maxFindings {
		d.diagnosis.More[f.Check]++
		d.diagnosis.unmended = d.diagnosis.unmended || f.Severity == SeverityError && !f.Repaired
		return
	}
	d.diagnosis.Findings = append(d.diagnosis.Findings, f)
}

// advance notes that so many entries more were looked at.
func (d *doctor) advance(entries int) {
	d.done += entries
	d.total = max(d.total, d.done) // jobs were added meanwhile
	if d.progress != nil {
		d.progress(d.done, d.total)
	}
}

// checkServer asks whether the Redis is fit for it.
func (d *doctor) checkServer(ctx context.Context) error {
	facts, err := d.store.Server(ctx)
	if err != nil {
		return err
	}
	answer, err := rights.Doctor.Ask(ctx, d.store.Driver(), d.store.Namespace())
	if err != nil {
		return err
	}
	if slices.Contains(answer.Lacks, "INFO") {
		d.find(Finding{Check: CheckServer, ID: "info", Severity: SeverityInfo, Detail: "the user of the doctor may " +
			"not run INFO: the version, the role and the maxmemory-policy were not checked", Remedy: "grant it +info"})
	}
	if facts.TooOld() {
		d.find(Finding{Check: CheckServer, ID: "version", Detail: fmt.Sprintf("this is Redis %s, which lacks commands",
			facts.Version),
			Remedy: "use Redis " + rdb.MinVersion + " or newer"})
	}
	if facts.EvictionPolicy != "" && facts.EvictionPolicy != "noeviction" {
		d.find(Finding{Check: CheckServer, ID: "eviction",
			Detail: fmt.Sprintf("its maxmemory-policy is %s: when its memory is full it removes jobs",
				facts.EvictionPolicy),
			Remedy: "set maxmemory-policy noeviction"})
	}
	if facts.Role == "slave" {
		d.find(Finding{Check: CheckServer, ID: "role", Detail: "this Redis is a replica, which takes no writes",
			Remedy: "name its master"})
	}
	return nil
}

// age is how long ago something was, in words that do not pretend to be exact.
func age(d time.Duration) string { return d.Round(time.Second).String() }
