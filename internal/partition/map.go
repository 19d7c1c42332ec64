package partition

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/265d0351/work/internal/excerpt"
)

// Max is how many partitions a namespace may have.
const Max = 64

// State is what a partition is there for.
type State string

// The states of a partition.
const (
	Open State = "open" // new jobs go there
	// what is there is worked off, and moved; one that is to be opened is so until it knows what is paused
	Draining State = "draining"
	Closed   State = "closed" // nothing is there but what was; it may be opened again
)

// Map says which partitions a namespace has, and what lives where. The zero value is that of a namespace which was
// never divided: one partition, and everything there. A Map is not changed once others have it: see Clone.
type Map struct {
	Version int64   `json:"version"` // the higher one counts
	States  []State `json:"states"`  // by number of the partition; none stands for one that is open
	// Buckets has the partition of each bucket, by the number of the bucket; none stands for partition 0.
	Buckets []int `json:"buckets,omitempty"`
	// Moving are buckets that are on their way: what belongs to them is stored nowhere until they are there.
	Moving map[int]int `json:"moving,omitempty"` // bucket -> where it goes
	// names of jobs that live in one partition, since they are limited; sorted
	Bound []string `json:"bound,omitempty"`
	// Binding are names whose jobs are being brought to the one partition where they will live. Sorted.
	Binding []string `json:"binding,omitempty"`
	// Queues are those in which the jobs of a name wait, of names that share one with others, or did. The last one is
	// that where new jobs go, "" their own; the others, each once, may still have some.
	Queues map[string][]string `json:"queues,omitempty"`
	// what is bound is listed as it is stored, for whoever moves it
	Tracking bool `json:"tracking,omitempty"`
	Wanted   int  `json:"wanted,omitempty"` // how many partitions there are to be; 0 when that is so
}

// Decode reads a map as [Map.Encode] has written it.
func Decode(text []byte) (*Map, error) {
	m := &Map{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("the map of the partitions cannot be read: %w", err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("the map of the partitions, version %d: %w", m.Version, err)
	}
	return m, nil
}

// check refuses a map that names what there is not.
func (m *Map) check() error {
	n := m.Len()
	switch {
	case m.Version < 1:
		return errors.New("versions begin with 1")
	case n > Max:
		return fmt.Errorf("it has %d partitions, more than %d", n, Max)
	case m.Wanted < 0 || m.Wanted > Max:
		return fmt.Errorf("%d partitions are wanted, and there may be %d", m.Wanted, Max)
	case m.State(0) == Closed:
		return errors.New("partition 0 is closed, and is where maps are decided")
	case !slices.IsSorted(m.Bound) || !slices.IsSorted(m.Binding):
		return errors.New("the names that are bound are not sorted")
	}
	for i, state := range m.States {
		if state != Open && state != Draining && state != Closed {
			return fmt.Errorf("the state of partition %d is %s", i, excerpt.Quoted(string(state)))
		}
	}
	if len(m.Buckets) != 0 && len(m.Buckets) != Buckets {
		return fmt.Errorf("it has %d buckets instead of %d", len(m.Buckets), Buckets)
	}
	for bucket, at := range m.Buckets {
		if at < 0 || at >= n {
			return fmt.Errorf("bucket %d is in partition %d of %d", bucket, at, n)
		}
	}
	for name, queues := range m.Queues {
		if len(queues) == 0 || len(queues) > MostQueues {
			return fmt.Errorf("the jobs of %s are in %d queues", excerpt.Quoted(name), len(queues))
		}
	}
	for bucket, to := range m.Moving {
		if bucket < 0 || bucket >= Buckets || to < 0 || to >= n {
			return fmt.Errorf("bucket %d is on its way to partition %d of %d", bucket, to, n)
		}
	}
	return nil
}

// Encode writes the map as it stands in Redis.
func (m *Map) Encode() []byte {
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // numbers and texts: cannot happen
	}
	return text
}

// Clone is a map of its own, to be changed.
func (m *Map) Clone() *Map {
	c := *m
	c.States, c.Buckets = slices.Clone(m.States), slices.Clone(m.Buckets)
	c.Bound, c.Binding = slices.Clone(m.Bound), slices.Clone(m.Binding)
	c.Moving = map[int]int{}
	maps.Copy(c.Moving, m.Moving)
	c.Queues = maps.Clone(m.Queues)
	return &c
}

const (
	// MostQueues is in how many queues the jobs of one name may have waited: those that serve it look into all of them.
	MostQueues = 16
	// MostShared is how many of these may be shared with others: a name can always go back to its own.
	MostShared = MostQueues - 1
)

// SharedBy are the queues that a name shares with others, or did; none where it has had only its own.
func (m *Map) SharedBy(name string) []string {
	return slices.DeleteFunc(slices.Clone(m.Queues[name]), func(queue string) bool { return queue == "" })
}

// QueueOf is the queue that the jobs of a name share with others; "" where they have their own.
func (m *Map) QueueOf(name string) string {
	if len(m.Queues) == 0 {
		return ""
	}
	queues := m.Queues[name]
	if len(queues) == 0 {
		return ""
	}
	return queues[len(queues)-1]
}

// Share has new jobs of a name wait in a queue, "" for their own, in a map that is not given to others yet. It returns
// false where that is so already.
func (m *Map) Share(name, queue string) bool {
	if m.QueueOf(name) == queue {
		return false
	}
	queues := slices.DeleteFunc(slices.Clone(m.Queues[name]), func(one string) bool { return one == queue })
	if m.Queues == nil {
		m.Queues = map[string][]string{}
	}
	m.Queues[name] = append(queues, queue)
	return true
}

// Sharing are the names whose jobs wait in a queue that they share, in order.
func (m *Map) Sharing(queue string) (names []string) {
	for name := range m.Queues {
		if m.QueueOf(name) == queue {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// IsShared tells whether a queue has or had jobs of several names.
func (m *Map) IsShared(queue string) bool {
	for _, queues := range m.Queues {
		if queue != "" && slices.Contains(queues, queue) {
			return true
		}
	}
	return false
}

// Len is how many partitions there are or were: their numbers are below it.
func (m *Map) Len() int { return max(1, len(m.States)) }

// Single tells whether there is but one partition, and never was another.
func (m *Map) Single() bool { return len(m.States) <= 1 }

// State is the state of a partition. One that the map does not name is closed.
func (m *Map) State(partition int) State {
	switch {
	case partition < len(m.States):
		return m.States[partition]
	case partition == 0:
		return Open
	}
	return Closed
}

// In are the partitions in one of these states, in order.
func (m *Map) In(states ...State) (partitions []int) {
	for i := range m.Len() {
		if slices.Contains(states, m.State(i)) {
			partitions = append(partitions, i)
		}
	}
	return partitions
}

// Open are the partitions to which new jobs go.
func (m *Map) Open() []int { return m.In(Open) }

// Served are the partitions in which workers work.
func (m *Map) Served() []int { return m.In(Open, Draining) }

// At is the partition of a bucket. While it moves it is the one that it comes from.
func (m *Map) At(bucket int) int {
	if len(m.Buckets) == 0 {
		return 0
	}
	return m.Buckets[bucket]
}

// Namespace is the name of a partition in Redis: what stands in the braces of its keys.
func Namespace(namespace string, partition int) string {
	if partition == 0 {
		return namespace
	}
	return namespace + "/" + strconv.Itoa(partition)
}
