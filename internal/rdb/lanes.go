package rdb

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	noteSettledScript = redisconn.Load("worker/note_settled")
	witnessScript     = redisconn.Load("worker/witness")
)

// MapLane is the field among the lanes that is none: it has the version of the map of the partitions.
const MapLane = ""

// LaneCall names one call among those of its lane.
type LaneCall struct {
	Lane   string
	Number int64 // grows with each call
	Known  int64 // the last call of the lane that was answered; 0 where that is not known, or too long ago
	Map    int64 // the version of the map of the partitions by which an enqueue goes; 0 where there is none
}

// numbers are the numbers of the call as scripts read them. They stand in one argument, so that programs which know of
// the first one only need not change.
func (c *LaneCall) numbers() any { return c.appendNumbers(nil) }

func (c *LaneCall) appendNumbers(dst []byte) []byte {
	dst = strconv.AppendInt(dst, c.Number, 10)
	if c.Known == 0 && c.Map == 0 {
		return dst
	}
	dst = strconv.AppendInt(append(dst, ' '), c.Known, 10)
	if c.Map != 0 {
		dst = strconv.AppendInt(append(dst, ' '), c.Map, 10)
	}
	return dst
}

// Rewind says that Redis has forgotten calls of a lane: a replica took over that had not got them. The zero value says
// that it has forgotten none.
type Rewind struct {
	Had int64 // the last call before them; 0 where it knew no call of the lane
	At  int64 // the first call after them
}

// Lost tells whether that call is forgotten.
func (r Rewind) Lost(number int64) bool { return number > r.Had && number < r.At }

// rewoundMark is what stands before a rewind in the answer to a call.
const rewoundMark = "0=rewound:"

// parseRewind reads "5-8".
func parseRewind(text string) (r Rewind, err error) {
	had, at, _ := strings.Cut(text, "-")
	if r.Had, err = strconv.ParseInt(had, 10, 64); err == nil {
		r.At, err = strconv.ParseInt(at, 10, 64)
	}
	return r, err
}

// LaneState is what Redis knows of a lane. The zero value is that of one that it does not know.
type LaneState struct {
	Number  int64  // of its last call
	Rewound Rewind // what the answer to that one says
}

// Has tells whether Redis has executed that call, and has not forgotten it.
func (s LaneState) Has(number int64) bool { return number <= s.Number && !s.Rewound.Lost(number) }

// parseLane reads "8 1732100000000 0=rewound:5-8 3=duplicate".
func parseLane(text string) (s LaneState, err error) {
	if text == "" {
		return s, nil
	}
	for i, field := range strings.Fields(text) {
		rewound, is := strings.CutPrefix(field, rewoundMark)
		switch {
		case i == 0:
			s.Number, err = strconv.ParseInt(field, 10, 64)
		case is:
			s.Rewound, err = parseRewind(rewound)
		}
		if err != nil {
			return LaneState{}, fmt.Errorf("lane at %q: %w", text, err)
		}
	}
	return s, nil
}

func readLanes(asked string, value any) ([]LaneState, error) {
	r := redisconn.Read(asked, value)
	var states []LaneState
	for r.More() {
		state, err := parseLane(r.Text())
		if err != nil {
			return nil, err
		}
		states = append(states, state)
	}
	return states, r.Err()
}

// Lanes returns what Redis knows of some lanes, in their order.
func (s *Store) Lanes(ctx context.Context, lanes []string) ([]LaneState, error) {
	value, err := redisconn.Do(ctx, s.driver,
		redisconn.Call{Command: "HMGET", Args: appendTexts([]any{s.keys.lanes}, lanes)})
	if err != nil {
		return nil, err
	}
	states, err := readLanes("HMGET", value)
	if err == nil && len(states) != len(lanes) {
		err = &redisconn.UnexpectedReplyError{Script: "HMGET", Reply: value}
	}
	return states, err
}

// Witness is a connection of one's own on which Redis is asked how many replicas have what it has executed. One
// goroutine uses it at a time.
type Witness struct {
	store *Store
	conn  redisconn.Conn
}

// Witness dials a connection, which the caller closes.
func (s *Store) Witness(ctx context.Context) (*Witness, error) {
	conn, err := s.driver.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return &Witness{store: s, conn: conn}, nil
}

// Close closes the connection.
func (w *Witness) Close() error { return w.conn.Close() }

// Testimony is what a Witness says.
type Testimony struct {
	Lanes     []LaneState // what the server that answers knows, in the order of the lanes that it was asked for
	Confirmed int         // how many replicas have all that this server had executed then
	Unable    error       // why it cannot count replicas, and never will
}

// Ask asks for some lanes, and waits until so many replicas have what the server has executed by then, at most so long.
// Which server answers is not known: the lanes tell whether it is one that has a call. Redis waits for what it had
// executed when it came to the script before the WAIT, whoever wrote it.
func (w *Witness) Ask(ctx context.Context, lanes []string, replicas int, wait time.Duration) (t Testimony, err error) {
	replies, err := w.conn.Pipeline(ctx, w.store.WitnessCall(lanes),
		redisconn.Call{Command: "WAIT", Args: []any{replicas, max(1, millis(wait))}, Block: wait})
	if err != nil {
		return t, err
	}
	if err := replies[0].Err; err != nil {
		return t, err
	}
	if t.Lanes, err = readLanes(witnessScript.Name, replies[0].Value); err != nil {
		return t, err
	}
	if err := replies[1].Err; err != nil {
		if !cannotWait(err) {
			return t, err
		}
		t.Unable = err
		return t, nil
	}
	confirmed, _ := replies[1].Value.(int64)
	t.Confirmed = int(confirmed)
	return t, nil
}

// WitnessCall makes the call that stands before the WAIT.
func (s *Store) WitnessCall(lanes []string) redisconn.Call {
	return redisconn.Call{Script: witnessScript, Keys: []string{s.keys.lanes}, Args: appendTexts(nil, lanes)}
}

// cannotWait tells a server that has no WAIT, or forbids it, from one that is none to ask: a replica, which has no
// replicas to wait for.
func cannotWait(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.HasPrefix(text, "noperm") || strings.Contains(text, "unknown command")
}

// NoteSettled makes the call that notes in a lane that what stands before it in a pipeline was executed. It must stand
// behind all of that, also where a script has to be sent again.
func (s *Store) NoteSettled(in LaneCall) redisconn.Call {
	in.Map = 0 // a settlement stores nothing new, and belongs where its jobs are
	return redisconn.Call{Script: noteSettledScript, Keys: []string{s.keys.lanes}, Args: []any{in.Lane, in.numbers()},
		Last: true}
}

// CallNoted makes a call, and notes in a lane that it was executed. It may be repeated if the call may be.
func (s *Store) CallNoted(ctx context.Context, call redisconn.Call, in LaneCall) (value any, noted Noted, err error) {
	replies, err := s.driver.Pipeline(ctx, call, s.NoteSettled(in))
	if err != nil {
		return nil, noted, err
	}
	return replies[0].Value, parseNoted(replies[1]), replies[0].Err
}

// Noted is the answer to NoteSettled.
type Noted struct {
	Rewound Rewind
	Err     error // nothing was noted
}

func parseNoted(reply redisconn.Reply) Noted {
	if reply.Err != nil {
		return Noted{Err: reply.Err}
	}
	r := redisconn.NewReader(noteSettledScript.Name, reply.Value, []any{reply.Value})
	state, err := parseLane("0 " + r.Text())
	if err == nil {
		err = r.Err()
	}
	return Noted{Rewound: state.Rewound, Err: err}
}
