package inspect

import (
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
)

// position is how far a place was read. The zero value is its beginning.
type position struct {
	Score string           // of the last job on a shelf; of a running one ms of its claim
	ID    string           // of that job
	Line  *rdb.QueueCursor // of a queue
}

// pageCursor is what JobPage.Next says.
type pageCursor struct {
	State  work.State
	Name   string
	Newest bool
	Mark   position
	Lines  []lineMark // of the queues of a namespace with partitions, instead of Mark
}

// lineMark is how far the queue of a partition was read.
type lineMark struct {
	Partition int
	Over      bool // to its end
	Mark      position
}

// searchCursor is what SearchPage.Next says.
type searchCursor struct {
	Search  string // digest of the selection
	Newest  bool
	State   work.State // the place where it goes on
	Name    string
	At      int // its partition
	Mark    position
	Through int
	Exact   bool // the job with that very id was found already
}

// The kinds of cursors, each its first byte: another layout gets another one.
const (
	pageKind   = 0x21
	searchKind = 0x22
	linesKind  = 0x23 // of a page, with a mark for each partition
	spreadKind = 0x24 // of a search in a namespace with partitions
	keysKind   = 0x25 // of a page of keys
	flowsKind  = 0x26 // of a page of flows
	// of a page of the members of a flow
	membersKind = 0x27
)

func (c pageCursor) write(w *cursorWriter) {
	w.number(c.kind())
	w.state(c.State)
	w.text(c.Name)
	w.truth(c.Newest)
	if len(c.Lines) == 0 {
		c.Mark.write(w)
		return
	}
	w.number(len(c.Lines))
	for _, line := range c.Lines {
		w.number(line.Partition)
		w.truth(line.Over)
		if !line.Over {
			line.Mark.write(w)
		}
	}
}

func (c *pageCursor) kind() int {
	if len(c.Lines) == 0 {
		return pageKind
	}
	return linesKind
}

func (c *pageCursor) read(r *cursorReader) {
	kind := r.kind(pageKind, linesKind)
	c.State, c.Name, c.Newest = r.state(), r.text(), r.truth()
	if kind == pageKind {
		c.Mark.read(r)
		return
	}
	c.Lines = readMarks(r, func(line *lineMark) {
		line.Partition, line.Over = r.number(), r.truth()
		if !line.Over {
			line.Mark.read(r)
		}
	})
}

// readMarks reads how far partitions were read.
func readMarks[M any](r *cursorReader, read func(mark *M)) []M {
	n := r.number()
	if n < 1 || n > partition.Max {
		r.fail()
		return nil
	}
	marks := make([]M, n)
	for k := range marks {
		read(&marks[k])
	}
	return marks
}

// markOf is where a page of a partition begins. Marks of one are from the time before there were others.
func (c *pageCursor) markOf(partition int) position {
	for n := range c.Lines {
		if c.Lines[n].Partition == partition {
			return c.Lines[n].Mark
		}
	}
	if c.Mark.Line != nil && partition > 0 {
		return position{}
	}
	return c.Mark
}

// over tells whether a partition has nothing more.
func (c *pageCursor) over(partition int) bool {
	return slices.ContainsFunc(c.Lines, func(line lineMark) bool { return line.Partition == partition && line.Over })
}

// validate refuses marks that nothing of that place could have made.
func (c *pageCursor) validate() error {
	if len(c.Lines) > 0 && c.State != work.StateQueued {
		return errOtherCursor
	}
	for n := range c.Lines {
		if err := c.Lines[n].Mark.validate(c.State); err != nil {
			return err
		}
	}
	return c.Mark.validate(c.State)
}

func (c searchCursor) write(w *cursorWriter) {
	if c.At == 0 {
		w.number(searchKind)
	} else {
		w.number(spreadKind)
		w.number(c.At)
	}
	w.text(c.Search)
	w.truth(c.Newest)
	w.state(c.State)
	w.text(c.Name)
	c.Mark.write(w)
	w.number(c.Through)
	w.truth(c.Exact)
}

func (c *searchCursor) read(r *cursorReader) {
	if r.kind(searchKind, spreadKind) == spreadKind {
		c.At = r.number()
	}
	c.Search, c.Newest, c.State, c.Name = r.text(), r.truth(), r.state(), r.text()
	c.Mark.read(r)
	c.Through, c.Exact = r.number(), r.truth()
}

func (m *position) write(w *cursorWriter) {
	w.score(m.Score)
	w.text(m.ID)
	w.truth(m.Line != nil)
	if m.Line == nil {
		return
	}
	w.truth(m.Line.Newest)
	w.number(m.Line.At)
	w.number(m.Line.Length)
	w.anchors([]rdb.Anchor{m.Line.Front})
	w.anchors(m.Line.Before)
	w.anchors(m.Line.Behind)
}

func (m *position) read(r *cursorReader) {
	m.Score, m.ID = r.score(), r.text()
	if !r.truth() {
		return
	}
	m.Line = &rdb.QueueCursor{Newest: r.truth(), At: r.number(), Length: r.number()}
	if front := r.anchors(); len(front) == 1 {
		m.Line.Front = front[0]
	} else {
		r.fail()
	}
	m.Line.Before, m.Line.Behind = r.anchors(), r.anchors()
}

// encodeCursor makes a text of letters, digits, "-" and "_": about 60 for a shelf and 100 for a queue or a search, and
// for queues of several partitions about 70 for each that is not over.
func encodeCursor(cursor interface{ write(*cursorWriter) }) string {
	var w cursorWriter
	cursor.write(&w)
	return w.sealed()
}

// maxCursor is above what any cursor has: a digest, a name and an id of 200 bytes, and marks of all partitions.
const maxCursor = 8 << 10

// decodeCursor reads what encodeCursor made of such a cursor, and no other.
func decodeCursor(text string, into interface{ read(*cursorReader) }) error {
	if len(text) > maxCursor {
		return badCursor(text, errors.New("it is too long"))
	}
	r, err := unsealed(text)
	if err == nil {
		into.read(r)
		err = r.end()
	}
	if err != nil {
		return badCursor(text, err)
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
	case m.Line != nil && (of != work.StateQueued || m.Score != "" || m.ID != ""):
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
