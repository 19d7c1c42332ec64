package jobargs

import (
	"fmt"
	"math"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/objects"
)

// The limits of args, in bytes of JSON.
const (
	// DefaultInRecord is what the record of one job has room for, where MaxArgsSize was not given.
	DefaultInRecord = 1 << 20
	// Most is what MaxArgsSize may be.
	Most = objects.MaxSize
	// DefaultLarge is above what an argument is an object of its own. An upload costs a round trip or two, and a
	// reference 100 bytes, so what is much smaller is better off in the record.
	DefaultLarge = 8 << 10
)

// Limits says how large the JSON of the arguments of one job may be, in bytes.
type Limits struct {
	Record int // of what stays in the record
	Total  int // of all
	Large  int // of one argument that stays in the record

	Seal func(content []byte) ([]byte, error) // what is stored of one that does not; nil is what it is
}

// NewLimits applies the defaults. most is MaxArgsSize, 0 where it was not given; large is LargeArgs, 0 the default
// and below that never.
func NewLimits(most, large int) Limits {
	l := Limits{Record: most, Total: most, Large: large}
	if most == 0 {
		l.Record, l.Total = DefaultInRecord, Most
	}
	switch {
	case large == 0:
		l.Large = DefaultLarge
	case large < 0:
		l.Large = math.MaxInt
	}
	return l
}

func (l Limits) check(job string, inRecord int, apart *Apart) error {
	size, most := inRecord, l.Record
	if apart != nil && inRecord+apart.bytes > l.Total {
		size, most = inRecord+apart.bytes, l.Total
	}
	if size <= most {
		return nil
	}
	return &invalid.Error{
		What: "the JSON of the args of job " + excerpt.Brief(job), Value: fmt.Sprintf("%d bytes long", size),
		Remedy: fmt.Sprintf("at most %d are allowed (MaxArgsSize): pass a reference to what is large", most),
	}
}
