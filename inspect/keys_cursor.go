package inspect

// keysCursor is what KeyPage.Next says.
type keysCursor struct {
	Name  string
	Marks []keysMark // of each partition
}

// keysMark is how far the keys of a partition were read. The zero value is the beginning.
type keysMark struct {
	Partition int
	List      keyList
	Pass      int64 // of the last key, in the list by turns
	Key       string
	Told      int // keys with at least so many parked jobs are on the first page
}

// keyList is one of the lists in which keys are: each key is told where it comes first.
type keyList int

// The lists, in the order in which they are read. The numbers are in cursors.
const (
	listFirst  keyList = iota // those with the most parked jobs
	listByTurn                // that have jobs in line
	listParked                // that have parked jobs
	listHeld                  // of which jobs have places
	listRuled                 // that somebody has limited or stopped by hand
	listOver
)

func (c keysCursor) write(w *cursorWriter) {
	w.number(keysKind)
	w.text(c.Name)
	w.number(len(c.Marks))
	for _, mark := range c.Marks {
		w.number(mark.Partition)
		w.number(int(mark.List))
		w.number(int(mark.Pass))
		w.text(mark.Key)
		w.number(mark.Told)
	}
}

func (c *keysCursor) read(r *cursorReader) {
	r.kind(keysKind)
	c.Name = r.text()
	c.Marks = readMarks(r, func(mark *keysMark) {
		mark.Partition, mark.List = r.number(), keyList(r.number())
		mark.Pass, mark.Key, mark.Told = int64(r.number()), r.text(), r.number()
		if mark.List < listFirst || mark.List > listOver || mark.Pass < 0 {
			r.fail()
		}
	})
}

// markOf is where a page of a partition begins. One that has come since is read from its beginning.
func (c *keysCursor) markOf(partition int) keysMark {
	for _, mark := range c.Marks {
		if mark.Partition == partition {
			return mark
		}
	}
	return keysMark{Partition: partition}
}
