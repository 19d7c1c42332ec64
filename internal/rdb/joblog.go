package rdb

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	logScript  = redisconn.Load("job/log")
	saveScript = redisconn.Load("job/save")
)

// The bounds of what a long job keeps in Redis. The time to live is renewed by each write; it only sees to it that
// nothing stays for ever if a job went away past the scripts.
const (
	MaxLogLines   = 1000
	MaxLogBytes   = 256 << 10
	MaxLogBatch   = 100 // lines of one batch
	longJobMemory = 366 * 24 * time.Hour
)

// Note is how a trail notes that the job has a log, or a state. The zero value is for one that is noted already.
type Note struct {
	Trail  []byte // what is written
	Fuller []byte // notes both: where it stands, it stays
}

// LogBatch is what is appended to the log of a job.
type LogBatch struct {
	Claim
	ID     string
	Number int64 // grows within a claim: one that is sent again counts once
	Note   Note
	Lines  [][]byte // without line feeds; 1 to MaxLogBatch
}

// Log makes the call that appends lines to the log of a job, if its claim stands.
func (w *Worker) Log(batch LogBatch) redisconn.Call {
	args := append(make([]any, 0, 8+len(batch.Lines)), batch.Element, w.claimName(batch.Claim), batch.Number,
		batch.Note.Trail,
		batch.Note.Fuller, MaxLogLines, MaxLogBytes, millis(longJobMemory))
	for _, line := range batch.Lines {
		args = append(args, line)
	}
	k := w.store.keys
	return redisconn.Call{Script: logScript, Keys: []string{k.log(batch.ID), k.trail, w.keys.inprocess(batch.Queue)},
		Args: args}
}

// claimName is the claim as it is named in what belongs to the job.
func (w *Worker) claimName(claim Claim) string {
	number, _, _ := strings.Cut(claim.Element, ":")
	return w.ID + " " + number
}

// Logged is the answer to one call of Log.
type Logged struct {
	Gone bool  // the claim is: nothing was done
	Err  error // nor then
}

// SendLogs sends calls made by Log in one pipeline. An error of its own means that some were not answered: they may be
// sent again.
func (s *Store) SendLogs(ctx context.Context, calls []redisconn.Call) ([]Logged, error) {
	replies, err := s.driver.Pipeline(ctx, calls...)
	if err != nil {
		return nil, err
	}
	return parseLogged(replies), nil
}

func parseLogged(replies []redisconn.Reply) []Logged {
	logged := make([]Logged, len(replies))
	for i, reply := range replies {
		logged[i].Gone, logged[i].Err = parseStanding(logScript, "logged", reply)
	}
	return logged
}

// parseStanding reads an answer that is one word, or "gone".
func parseStanding(script *redisconn.Script, well string, reply redisconn.Reply) (gone bool, err error) {
	if reply.Err != nil {
		return false, reply.Err
	}
	switch answer := Word(reply.Value); answer {
	case well:
		return false, nil
	case "gone":
		return true, nil
	}
	return false, &redisconn.UnexpectedReplyError{Script: script.Name, Reply: reply.Value}
}

// SavedState is what a job saves.
type SavedState struct {
	Claim
	ID     string
	Number int64 // grows within a claim: of two that are under way, the one with the larger number stays
	Note   Note
	JSON   []byte
}

// savedState is what is stored of it.
type savedState struct {
	Claim string          `json:"claim"` // worker and number of the fetch
	Save  int64           `json:"save"`
	State json.RawMessage `json:"state"`
}

// SaveState stores the state of a job, and returns true, if its claim stands.
func (w *Worker) SaveState(ctx context.Context, state SavedState) (bool, error) {
	k := w.store.keys
	name, err := json.Marshal(w.claimName(state.Claim))
	if err != nil { // a string: cannot happen
		return false, err
	}
	replies, err := w.store.driver.Pipeline(ctx, redisconn.Call{
		Script: saveScript, Keys: []string{k.state(state.ID), k.trail, w.keys.inprocess(state.Queue)},
		Args: []any{state.Element, `{"claim":` + string(name) + `,"save":`, state.Number, `,"state":` +
			string(state.JSON) + `}`,
			state.Note.Trail, state.Note.Fuller, millis(longJobMemory)},
	})
	if err != nil {
		return false, err
	}
	gone, err := parseStanding(saveScript, "saved", replies[0])
	return !gone && err == nil, err
}

// LoadState returns the JSON of what a job has saved, or nil.
func (s *Store) LoadState(ctx context.Context, id string) (json.RawMessage, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "GET", Args: []any{s.keys.state(id)}})
	if err != nil || value == nil {
		return nil, err
	}
	text, _ := value.([]byte)
	var saved savedState
	if err := json.Unmarshal(text, &saved); err != nil {
		return nil, &redisconn.UnexpectedReplyError{Script: "GET " + s.keys.state(id), Reply: value}
	}
	return saved.State, nil
}

// LogEntry is a line of a log with its number, the first being 1. 0 is what somebody else has put there.
type LogEntry struct {
	Number int64
	Line   []byte
}

// LogTail returns up to so many of the newest lines of the log of a job, oldest first, and whether the job had a record
// when they were about to be read: if not, there will be no more.
func (s *Store) LogTail(ctx context.Context, id string, lines int) (entries []LogEntry, known bool, err error) {
	replies, err := s.driver.Pipeline(ctx, redisconn.Call{Command: "HEXISTS", Args: []any{s.keys.jobs, id}},
		redisconn.Call{Command: "LRANGE", Args: []any{s.keys.log(id), -max(1, lines), -1}})
	if err != nil {
		return nil, false, err
	}
	for _, reply := range replies {
		if reply.Err != nil {
			return nil, false, reply.Err
		}
	}
	r := redisconn.NewReader("LRANGE", replies[1].Value, nil)
	for _, element := range r.TextsOf(replies[1].Value) {
		if !strings.HasPrefix(element, "# ") {
			entries = append(entries, parseLogEntry([]byte(element)))
		}
	}
	return entries, replies[0].Value == int64(1), r.Err()
}

func parseLogEntry(element []byte) LogEntry {
	digits, line, _ := bytes.Cut(element, []byte(" "))
	number, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return LogEntry{Line: element}
	}
	return LogEntry{Number: number, Line: line}
}

// FollowLog calls receive with what is appended to the log of a job from ready on, in the calling goroutine, until ctx
// ends or the connection is lost.
func (s *Store) FollowLog(ctx context.Context, id string, ready func(), receive func([]LogEntry)) error {
	return s.driver.Subscribe(ctx, s.keys.log(id), ready, func(message []byte) {
		var entries []LogEntry
		for element := range bytes.SplitSeq(message, []byte("\n")) {
			entries = append(entries, parseLogEntry(bytes.Clone(element)))
		}
		receive(entries)
	})
}
