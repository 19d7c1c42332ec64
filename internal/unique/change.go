package unique

import (
	"strconv"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/rawjson"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// Change is how a job that comes changes the one of its kind that lives.
type Change struct {
	Args []byte // that the other one gets; nil leaves its own

	// When the other one becomes due, if that is later than it is due now.
	Postpone bool
	At       int64     // ms, by the clock of Redis as the enqueuer knows it
	Place    rdb.Place // how Redis is told
	When     int64
}

// Amendment is the change of the job with that id, whose record was read.
func (c *Change) Amendment(id string, read []byte) (rdb.Amendment, error) {
	a := rdb.Amendment{ID: id, Read: read}
	changed, err := c.Apply(read)
	if err != nil {
		return a, err
	}
	old, err := record.Decode(changed)
	if err == nil && c.Postpone && c.At > old.RunAt {
		a.Place, a.When = c.Place, c.When
		changed, err = rawjson.Set(changed, "at", strconv.AppendInt(nil, c.At, 10))
	}
	a.New = changed
	return a, err
}

// Apply is the record that was read, with the new args where there are some. It is for a job that is due already.
func (c *Change) Apply(read []byte) ([]byte, error) {
	old, err := record.Decode(read)
	if err != nil || c.Args == nil {
		return read, err
	}
	if len(old.Objects) > 0 {
		return nil, &invalid.Error{What: "job " + excerpt.Brief(old.ID),
			Value:  "stored with args that are objects, so they cannot be replaced",
			Remedy: "give ReplaceArgs at every enqueue of this kind"}
	}
	return rawjson.Set(read, "args", c.Args)
}
