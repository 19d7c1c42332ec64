package inspect

// flowsCursor is what FlowPage.Next says.
type flowsCursor struct {
	Filter string
	Marks  []flowsMark // of each partition
}

// flowsMark is how far the flows of a partition were read. The zero value is the beginning.
type flowsMark struct {
	Partition int
	Over      bool // to their end
	Score, ID string
}

func (c flowsCursor) write(w *cursorWriter) {
	w.number(flowsKind)
	w.text(c.Filter)
	w.number(len(c.Marks))
	for _, mark := range c.Marks {
		w.number(mark.Partition)
		w.truth(mark.Over)
		if !mark.Over {
			w.score(mark.Score)
			w.text(mark.ID)
		}
	}
}

func (c *flowsCursor) read(r *cursorReader) {
	r.kind(flowsKind)
	c.Filter = r.text()
	c.Marks = readMarks(r, func(mark *flowsMark) {
		mark.Partition, mark.Over = r.number(), r.truth()
		if !mark.Over {
			mark.Score, mark.ID = r.score(), r.text()
		}
	})
}

// markOf is where a page of a partition begins. One that has come since is read from its beginning.
func (c *flowsCursor) markOf(partition int) flowsMark {
	for _, mark := range c.Marks {
		if mark.Partition == partition {
			return mark
		}
	}
	return flowsMark{Partition: partition}
}

// membersCursor is what FlowMemberPage.Next says: how far the members of a flow were read, in one of the ways in which
// they can be.
type membersCursor struct {
	Flow   string
	State  string
	Job    string
	Way    membersWay
	Number int    // of a member of a batch: the next one
	Text   string // a cursor of Redis, or a name
}

// membersWay is where members are read. The numbers are in cursors.
type membersWay int

const (
	byNumber  membersWay = iota // those of a batch, in their order
	byScan                      // those whose names are kept
	bySorting                   // these, where they are few: in the order of their names
	byLeft                      // those that have not ended
	byEnd                       // those that have ended in one way
	waysOver
)

func (c membersCursor) write(w *cursorWriter) {
	w.number(membersKind)
	w.text(c.Flow)
	w.text(c.State)
	w.text(c.Job)
	w.number(int(c.Way))
	w.number(c.Number)
	w.text(c.Text)
}

func (c *membersCursor) read(r *cursorReader) {
	r.kind(membersKind)
	c.Flow, c.State, c.Job = r.text(), r.text(), r.text()
	c.Way, c.Number, c.Text = membersWay(r.number()), r.number(), r.text()
	if c.Way < byNumber || c.Way >= waysOver || c.Number < 0 {
		r.fail()
	}
}
