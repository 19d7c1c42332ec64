// Package stopped is what is kept for a while of workers that have stopped or died: what they were, why they are gone
// and what they ran. Workers write it of themselves when they stop, and whoever takes a dead one apart writes it of
// that one. It decides nothing.
package stopped

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/265d0351/work/internal/rdb"
)

// Why a worker is gone.
const (
	Stopped = "stopped"                // its program stopped it
	Ordered = "stopped by an operator" // as Inspector.StopWorker does
	Retired = "retired"                // its pool had nothing for it to do
	Idle    = "idle"                   // none of its pool had anything to do, for as long as its IdleTimeout
	Died    = "died"                   // its heartbeat had lapsed; declare_alive.lua knows this one and the next
	Fenced  = "fenced"                 // it was taken for dead, and goes on under another id
)

// Worker is one worker that is gone.
type Worker struct {
	Why     string `json:"-"` // stands before the JSON
	Host    string `json:"host,omitempty"`
	PID     int    `json:"pid,omitempty"`
	Service string `json:"service,omitempty"`
	Version string `json:"version,omitempty"`
	Go      string `json:"go,omitempty"`
	Started int64  `json:"started,omitempty"` // ms
	Ended   int64  `json:"ended,omitempty"`   // ms; 0 where that is when it was put into the list
	Ran     Ran    `json:"ran,omitzero"`
	Held    Held   `json:"held,omitzero"`
}

// Held is what a worker held when it died.
type Held struct {
	Jobs int   `json:"jobs,omitempty"`
	Some []Job `json:"some,omitempty"` // the first of them, at most [MostHeld]
}

// Job is one of them.
type Job struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"` // empty where another reaper has put it back
}

// MostHeld is how many of the jobs that it held are named.
const MostHeld = 20

// Of describes a worker by what it had told Redis of itself.
func Of(info map[string]string, why string) Worker {
	number := func(field string) int64 {
		n, _ := strconv.ParseInt(info[field], 10, 64) // what cannot be read is left out
		return n
	}
	w := Worker{Why: why, Host: info["host"], PID: int(number("pid")), Service: info["service"],
		Version: info["version"], Go: info["go"], Started: number("started")}
	_ = json.Unmarshal([]byte(info[rdb.InfoRan]), &w.Ran) // as above
	return w
}

// maxBytes is how long a text may become. Names and ids may be long: then some are left out.
const maxBytes = 8 << 10

// Encode returns the text for the list: why, a blank and the JSON of the rest.
func (w Worker) Encode() string {
	for {
		encoded, err := json.Marshal(w)
		if err != nil {
			return "" // there is nothing in it that could not be encoded
		}
		if len(encoded) <= maxBytes || len(w.Ran.Names)+len(w.Held.Some) == 0 {
			return w.Why + " " + string(encoded)
		}
		w.Ran = w.Ran.first(len(w.Ran.Names) / 2)
		w.Held.Some = slices.Clip(w.Held.Some[:len(w.Held.Some)/2])
	}
}

var errNoText = errors.New("it is no text about a worker that stopped")

// Decode reads such a text.
func Decode(text string) (w Worker, err error) {
	why, encoded, found := strings.Cut(text, " {")
	if !found {
		return Worker{}, errNoText
	}
	err = json.Unmarshal([]byte("{"+encoded), &w)
	w.Why = why
	return w, err
}
