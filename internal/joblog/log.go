package joblog

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// The bounds of a log on its way to Redis.
const (
	batchLines = 64 // lines of one batch; so many are not kept waiting

	// Half of what the log holds, so that the line which tells of those that were dropped stays in it for a while.
	maxHeldLines = rdb.MaxLogLines / 2
	maxHeldBytes = rdb.MaxLogBytes / 2
)

// Attempt is what a log has to know of the attempt that it belongs to.
type Attempt struct {
	Worker *rdb.Worker // the identity that holds the claim
	Claim  rdb.Claim
	ID     string // of the job
	Named  string // the job as it is named in reports
	Number int    // of the attempt, from 1 on
	Note   func() rdb.Note
	Noted  func() // is called once Redis has taken a batch, and so the note
}

// Log is what one attempt has logged and Redis has not taken yet. All methods may be called concurrently.
type Log struct {
	attempt Attempt
	flusher *Flusher
	logger  *slog.Logger

	mu      sync.Mutex
	lines   [][]byte // that are in no batch yet
	bytes   int      // of lines
	dropped int      // lines that went away unsent, the oldest first
	number  int64    // of the last batch that was made
	made    []batch  // not taken yet, the oldest first
	used    bool     // something was logged
	over    bool     // the attempt is: nothing is added any more, and the flusher leaves it alone
	closed  bool     // what is in it will not be sent
	refusal error    // the last one that left something out
	lost    bool     // a batch was left out, and a later one taken
}

// batch is lines that are sent together. Redis takes each number of a claim once, in ascending order.
type batch struct {
	number int64
	lines  [][]byte
}

// New returns the log of an attempt. What is logged goes to the mirror as well, unless that is nil.
func (f *Flusher) New(attempt Attempt, mirror slog.Handler) *Log {
	l := &Log{attempt: attempt, flusher: f}
	l.logger = newLogger(l, attempt.Number, f.Clock, mirror)
	return l
}

// Logger writes to the log.
func (l *Log) Logger() *slog.Logger { return l.logger }

// add adds a line, of which it keeps a copy.
func (l *Log) add(line []byte) {
	if waiting := l.keep(line); waiting == 1 || waiting == batchLines {
		l.flusher.expect(l, waiting == batchLines)
	}
}

// keep returns how many lines are in no batch; 0 where the line was not kept. The oldest ones go where there is no
// room: the log in Redis would let go of them as well.
func (l *Log) keep(line []byte) (waiting int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.closed {
		return 0
	}
	l.used = true
	for len(l.lines) > 0 && (len(l.lines) >= maxHeldLines || l.bytes+len(line) > maxHeldBytes) {
		l.bytes -= len(l.lines[0])
		l.lines[0] = nil
		l.lines = l.lines[1:]
		l.dropped++
	}
	l.lines = append(l.lines, slices.Clone(line))
	l.bytes += len(line)
	return len(l.lines)
}

// Used tells whether anything was logged, so that Redis has, or will have, a log of the job.
func (l *Log) Used() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used
}

// End says that the attempt is over: what is logged from now on is dropped. What is left is the business of whoever
// sends the outcome: see Rest.
func (l *Log) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
}

// make makes a batch of the next lines; false where there are none. What was dropped is told first.
func (l *Log) make(now time.Time) bool {
	var lines [][]byte
	if l.dropped > 0 {
		lines = append(lines, droppedLine(l.dropped, now))
		l.dropped = 0
	}
	n := min(len(l.lines), batchLines)
	for _, line := range l.lines[:n] {
		lines = append(lines, line)
		l.bytes -= len(line)
	}
	clear(l.lines[:n])
	l.lines = l.lines[n:]
	if lines == nil {
		return false
	}
	l.number++
	l.made = append(l.made, batch{l.number, lines})
	return true
}

// next is the batch that the flusher sends now: one that was not taken is sent again before others.
func (l *Log) next(now time.Time) (Batch, bool) {
	l.mu.Lock()
	if l.over || l.closed || len(l.made) == 0 && !l.make(now) {
		l.mu.Unlock()
		return Batch{}, false
	}
	first := l.made[0]
	l.mu.Unlock()
	return l.batch(first), true
}

// Rest is all that is left of the log of an attempt that is over, in order: what must be sent ahead of its outcome.
// What the flusher has under way is among it, since nobody knows whether it arrives in time; Redis takes it once. The
// same is returned again until it was answered.
func (l *Log) Rest() []Batch {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	for now := l.flusher.Clock.Now(); l.make(now); {
		continue
	}
	left := slices.Clone(l.made)
	l.mu.Unlock()
	batches := make([]Batch, len(left))
	for i, b := range left {
		batches[i] = l.batch(b)
	}
	return batches
}

// Abandon is called once the outcome has counted: a log that Redis has not taken by then is lost. It returns the
// refusal that is to blame, nil where nothing is lost.
func (l *Log) Abandon() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	lost := l.lost || len(l.made) > 0
	l.close()
	if lost {
		return l.refusal
	}
	return nil
}

// close drops what is left.
func (l *Log) close() { l.closed, l.lines, l.made, l.bytes = true, nil, nil, 0 }

// Batch is some lines of a log on their way.
type Batch struct {
	Call  redisconn.Call
	Bytes int // of the lines

	log    *Log
	number int64
}

// batch makes the call that sends it.
func (l *Log) batch(b batch) Batch {
	made := Batch{log: l, number: b.number}
	for _, line := range b.lines {
		made.Bytes += len(line)
	}
	made.Call = l.attempt.Worker.Log(rdb.LogBatch{Claim: l.attempt.Claim, ID: l.attempt.ID, Number: b.number,
		Note: l.attempt.Note(), Lines: b.lines})
	return made
}

// Answered takes the answer of Redis to a batch of Rest. One that was refused is sent again as long as the outcome is,
// if it is the server that is not well; not where it is the log itself that is wrong.
func (b Batch) Answered(answer rdb.Logged) {
	if b.taken(answer) {
		return
	}
	l := b.log
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refusal = answer.Err
	if !redisconn.ConcernsServer(answer.Err) {
		l.lost = true
		l.close()
	}
}

// taken books an answer that is no refusal.
func (b Batch) taken(answer rdb.Logged) bool {
	l := b.log
	if answer.Err != nil {
		return false
	}
	if !answer.Gone {
		l.attempt.Noted()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if answer.Gone {
		l.close()
		return true
	}
	l.made = slices.DeleteFunc(l.made, func(made batch) bool {
		l.lost = l.lost || made.number < b.number // Redis takes no earlier ones any more
		return made.number <= b.number
	})
	return true
}

// refused books a refusal that the flusher got, and returns what to do: report that the log is lost, or try again.
func (b Batch) refused(err error) (lost, again bool) {
	l := b.log
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.over, l.closed: // the outcome takes it along
		return false, false
	case redisconn.ConcernsServer(err):
		return false, true
	}
	l.close()
	return true, false
}
