package inspect

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"strconv"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// position is how far a place was read. The zero value is its beginning.
type position struct {
	Score string           `json:"score,omitzero"` // of the last job on a shelf; of a running one ms of its claim
	ID    string           `json:"id,omitzero"`
	Line  *rdb.QueueCursor `json:"line,omitempty"` // of a queue
}

// pageCursor is what JobPage.Next says.
type pageCursor struct {
	State  work.State `json:"state"`
	Name   string     `json:"name,omitzero"`
	Newest bool       `json:"newest,omitzero"`
	Mark   position   `json:"mark"`
}

// searchCursor is what SearchPage.Next says.
type searchCursor struct {
	Search  string     `json:"search"` // digest of the selection
	Newest  bool       `json:"newest,omitzero"`
	State   work.State `json:"state"` // the place where it goes on
	Name    string     `json:"name,omitzero"`
	Mark    position   `json:"mark"`
	Through int        `json:"through"`
	Exact   bool       `json:"exact,omitzero"` // the job with that very id was found already
}

// encodeCursor makes a text of letters, digits, "-" and "_".
func encodeCursor(cursor any) string {
	plain, err := json.Marshal(cursor)
	if err != nil { // texts and numbers only: cannot happen
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(plain)
}

// maxCursor is above what any cursor has: eight ids of 200 bytes, escaped.
const maxCursor = 64 << 10

// decodeCursor reads what encodeCursor made of such a cursor, and no other.
func decodeCursor(text string, into any) error {
	if len(text) > maxCursor {
		return badCursor(text, errors.New("it is too long"))
	}
	plain, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return badCursor(text, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(plain))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return badCursor(text, err)
	}
	if decoder.More() {
		return badCursor(text, errors.New("there is something behind it"))
	}
	return nil
}

func badCursor(text string, cause error) error {
	return &work.InvalidError{What: "the cursor", Value: excerpt.Brief(text),
		Remedy: "use Next of the page before, and what else was asked for it; \"\" begins anew",
		Err:    cause}
}

var errOtherCursor = errors.New("it is of another question")

// validate refuses a mark that nothing of that place could have made.
func (m *position) validate(of work.State) error {
	at, err := strconv.ParseFloat(m.Score, 64)
	switch {
	case of == work.StateQueued && (m.Score != "" || m.ID != "") || of != work.StateQueued && m.Line != nil:
		return errOtherCursor
	case m.Score != "" && (err != nil || math.IsNaN(at)):
		return errors.New("its score is no number")
	case m.Score == "" && m.ID != "":
		return errors.New("it has no score")
	case m.Line != nil && (m.Line.At < 0 || m.Line.Length < 0 || len(m.Line.Before)+len(m.Line.Behind) > 100):
		return errors.New("there is no such place")
	}
	return nil
}
