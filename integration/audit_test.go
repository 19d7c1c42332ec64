package integration

import (
	"context"
	"slices"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/inspect/doctor"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/redisconn"
)

// do asks Redis, past any proxy, over a connection of its own.
func (f *fleet) do(command string, args ...any) (any, error) {
	if f.several != nil {
		return f.doSomewhere(redisconn.Call{Command: command, Args: args})
	}
	conn, err := redis.DialURL(f.direct, redis.DialConnectTimeout(time.Second), redis.DialReadTimeout(time.Second))
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	return conn.Do(command, args...)
}

// doSomewhere asks the server that has the namespace now.
func (f *fleet) doSomewhere(call redisconn.Call) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	replies, err := f.several.Pipeline(ctx, call)
	if err != nil {
		return nil, err
	}
	return replies[0].Value, replies[0].Err
}

// key is a key of the first partition.
func (f *fleet) key(name string) string { return f.keyIn(0, name) }

func (f *fleet) keyIn(number int, name string) string {
	return "{" + partition.Namespace(f.namespace, number) + "}:" + name
}

// sum adds up what a command says of a key of each partition.
func (f *fleet) sum(command, name string) (sum int, err error) {
	for i := range max(1, f.partitions) {
		n, err := redis.Int(f.do(command, f.keyIn(i, name)))
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// watch notes in the ledger when the outcome of each job that ended has counted: from then on Redis knows it no more,
// and nobody may begin it again. It ends with the test.
func (f *fleet) watch() {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		var open []string
		for seen := 0; ; {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond): // how closely it looks
			}
			ends := f.ledger.of(ended, 0)
			for _, e := range ends[seen:] {
				open = append(open, e.Of)
			}
			seen = len(ends)
			open = f.stillOpen(open)
		}
	}()
	f.t.Cleanup(func() {
		close(stop)
		<-stopped
	})
}

// stillOpen returns those of the ids that Redis knows, and notes the others as gone.
func (f *fleet) stillOpen(open []string) []string {
	var still []string
	for lot := range slices.Chunk(open, 500) {
		present, err := f.present(lot)
		at := time.Now()
		if err != nil {
			still = append(still, lot...) // Redis is away
			continue
		}
		for i := range lot {
			if present[i] {
				still = append(still, lot[i])
				continue
			}
			f.ledger.add(entry{At: at, What: gone, Of: lot[i]})
		}
	}
	return still
}

// present tells which of some ids Redis knows. One that is being moved from a partition to another is known to both, or
// to the hash of those that are on their way.
func (f *fleet) present(ids []string) ([]bool, error) {
	present := make([]bool, len(ids))
	for i := range max(1, f.partitions) {
		for _, hash := range []string{"jobs", "frozen"} {
			if hash == "frozen" && f.partitions < 2 {
				continue
			}
			records, err := redis.Values(f.do("HMGET", redis.Args{f.keyIn(i, hash)}.AddFlat(ids)...))
			if err != nil {
				return nil, err
			}
			for k, record := range records {
				present[k] = present[k] || record != nil
			}
		}
	}
	return present, nil
}

// settled waits until no job is left in Redis but the doomed, and checks that each that was accepted ran to its end and
// none was buried that should not be.
func (f *fleet) settled() {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		left, err := f.sum("HLEN", "jobs")
		buried, failed := f.sum("ZCARD", "morgue")
		return err == nil && failed == nil && left == len(f.doomed) && buried == len(f.doomed)
	}, patience, 50*time.Millisecond, "jobs are left")
	empty := []string{"claimed", "scheduled", "retry"}
	if len(f.doomed) == 0 {
		empty = append(empty, "crashes", "trail", "names", "morgue")
	}
	for _, of := range empty {
		left, err := f.sum("EXISTS", of)
		assert.NoError(f.t, err)
		assert.Zero(f.t, left, of)
	}
	var morgue []string
	for i := range max(1, f.partitions) {
		some, err := redis.Strings(f.do("ZRANGE", f.keyIn(i, "morgue"), 0, -1))
		assert.NoError(f.t, err)
		morgue = append(morgue, some...)
	}
	assert.ElementsMatch(f.t, f.doomed, morgue)

	lost := 0
	assert.Eventually(f.t, func() bool { // a process tells of an end when Redis has it, and the ledger hears of it then
		ends := f.ledger.times(ended)
		lost = 0
		for _, id := range f.accepted {
			if ends[id] == 0 && !slices.Contains(f.doomed, id) {
				lost++
			}
		}
		return lost == 0
	}, patience, 10*time.Millisecond, "jobs that never ended, of %d", len(f.accepted))
	assert.Zero(f.t, lost)
	assert.Len(f.t, ids(f.ledger.of(buried, 0)), len(f.doomed))
	assert.Empty(f.t, f.ledger.of("unreadable", 0))
}

// once checks that each of these jobs was begun exactly once.
func (f *fleet) once(of []string) {
	f.t.Helper()
	begins := f.ledger.times(begun)
	for _, id := range of {
		if begins[id] != 1 {
			assert.Fail(f.t, "not begun once", "%s: %d times", id, begins[id])
		}
	}
}

// undisturbed checks that no worker was taken for dead and no job was interrupted.
func (f *fleet) undisturbed() {
	f.t.Helper()
	for _, what := range []string{reaped, fenced, cut, claimGone, dataLost} {
		assert.Empty(f.t, f.ledger.of(what, 0), what)
	}
}

// explained checks that every begin that another one followed was either of a process that was killed in between, or
// asked for another attempt; and that none came after the job's outcome had counted. It returns how many were repeated
// because of a kill.
func (f *fleet) explained() (repeated int) {
	f.t.Helper()
	type attempt struct {
		id     string
		member int
	}
	asked := map[attempt]int{}
	for _, e := range f.ledger.of(erred, 0) {
		asked[attempt{e.Of, e.Member}]++
	}
	counted := map[string]time.Time{}
	for _, e := range f.ledger.of(gone, 0) {
		counted[e.Of] = e.At
	}
	before := map[string]entry{}
	for _, e := range f.ledger.byTime(begun) {
		if at, ok := counted[e.Of]; ok && e.At.After(at) {
			assert.Fail(f.t, "begun after its outcome had counted", "%s, %v later", e.Of, e.At.Sub(at))
		}
		last, again := before[e.Of]
		before[e.Of] = e
		if !again {
			continue
		}
		killed, died := f.killed[last.Member]
		switch by := (attempt{e.Of, last.Member}); {
		case asked[by] > 0:
			asked[by]-- // it explains one
		case died && killed.After(last.At) && e.At.After(killed):
			repeated++
		default:
			assert.Fail(f.t, "begun twice without a reason", "%s by %d and %d", e.Of, last.Member, e.Member)
		}
	}
	return repeated
}

// healthy checks that the doctor finds nothing wrong.
func (f *fleet) healthy() {
	f.t.Helper()
	inspector, err := inspect.New(f.direct, work.Namespace(f.namespace))
	require.NoError(f.t, err)
	defer func() { _ = inspector.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	diagnosis, err := doctor.Examine(ctx, inspector, doctor.Options{})
	require.NoError(f.t, err)
	assert.True(f.t, diagnosis.Healthy(), "%+v", diagnosis.Findings)
}

// only waits until so many processes are left in each partition, since all workers that died were reaped. One that held
// nothing in a partition is dead there too, and is found a second or two after those whose jobs were waited for.
func (f *fleet) only(processes int) {
	f.t.Helper()
	for i := range max(1, f.partitions) {
		var workers, dead int
		assert.Eventually(f.t, func() (done bool) {
			var err, failed error
			workers, err = redis.Int(f.do("SCARD", f.keyIn(i, "workers")))
			dead, failed = redis.Int(f.do("SCARD", f.keyIn(i, "dead")))
			return err == nil && failed == nil && workers == processes && dead == 0
		}, patience, 50*time.Millisecond)
		require.Equal(f.t, []int{processes, 0}, []int{workers, dead}, "workers, and dead ones, in partition %d", i)
	}
}
