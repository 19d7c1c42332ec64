package work

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/265d0351/work/objects"
)

const (
	// defaultLargeArgs is above how many bytes an argument is an object of its own. An upload costs a round trip or
	// two, and a reference 100 bytes, so what is much smaller is better off in the record.
	defaultLargeArgs = 8 << 10
	// minShared is how long the JSON of an argument is that may be a reference: it has a hash in it.
	minShared = 64
	// maxObjects is how many arguments of one job are objects: more large ones stay in the record, if it has room for
	// them.
	maxObjects = 64
	// objectBytes is what a reference counts for in the size of a call, so that one call checks about 500 at the most.
	objectBytes = 2 << 10
)

// argsLimits says how large the JSON of the arguments of one job may be, in bytes.
type argsLimits struct {
	record int // of what stays in the record
	total  int // of all
	large  int // of one argument that stays in the record
}

// newArgsLimits applies the defaults. most is MaxArgsSize, 0 where it was not given; large is LargeArgs, 0 the default
// and below that never.
func newArgsLimits(most, large int) argsLimits {
	l := argsLimits{record: most, total: most, large: large}
	if most == 0 {
		l.record, l.total = defaultMaxArgsSize, objects.MaxSize
	}
	switch {
	case large == 0:
		l.large = defaultLargeArgs
	case large < 0:
		l.large = math.MaxInt
	}
	return l
}

// objectArgs are the arguments of one job that are objects. In the record null stands for one that was set apart, and a
// reference that the program made stays as it is.
type objectArgs struct {
	at       map[int]string    // position -> hash
	hashes   []string          // each once
	contents map[string][]byte // by hash: of those that this enqueue brings along
	bytes    int               // of all that were set apart
}

// encode appends the JSON array of the arguments to dst, without those that are objects.
func (l argsLimits) encode(dst []byte, job string, args []any) ([]byte, *objectArgs, error) {
	e := argsEncoders.Get().(*argsEncoder)
	defer e.release()
	e.buffer.Reset()
	e.buffer.WriteByte('[')
	var apart *objectArgs
	for i, arg := range args {
		if i > 0 {
			e.buffer.WriteByte(',')
		}
		begin := e.buffer.Len()
		if err := e.add(arg); err != nil {
			return dst, nil, &InvalidError{
				What:   fmt.Sprintf("argument %d of job %s", i+1, quoted(job)),
				Value:  fmt.Sprintf("a %T that does not encode as JSON (%s)", arg, errorText(err)),
				Remedy: "pass a value that encoding/json can encode", Err: err, // of which add has taken what it quotes
			}
		}
		if e.buffer.Len()-begin < minShared {
			continue
		}
		if hash := referred(arg); hash != "" {
			apart = apart.refer(i, hash)
		} else if e.buffer.Len()-begin > l.large {
			apart = apart.take(i, &e.buffer, begin)
		}
	}
	e.buffer.WriteByte(']')
	if err := l.check(job, e.buffer.Len(), apart); err != nil {
		return dst, nil, err
	}
	return append(dst, e.buffer.Bytes()...), apart, nil
}

func (l argsLimits) check(job string, inRecord int, apart *objectArgs) error {
	size, most := inRecord, l.record
	if apart != nil && inRecord+apart.bytes > l.total {
		size, most = inRecord+apart.bytes, l.total
	}
	if size <= most {
		return nil
	}
	return &InvalidError{
		What: "the JSON of the args of job " + quoted(job), Value: fmt.Sprintf("%d bytes long", size),
		Remedy: fmt.Sprintf("at most %d are allowed (MaxArgsSize): pass a reference to what is large", most),
	}
}

// referred is the hash of the object that an argument refers to; empty for all others, and for what has no right hash.
func referred(arg any) string {
	referrer, ok := arg.(objects.Referrer)
	if !ok {
		return ""
	}
	hash, err := objects.ParseHash(string(referrer.Hash()))
	if err != nil {
		return ""
	}
	return string(hash)
}

// refer notes an argument that refers to an object which is there.
func (o *objectArgs) refer(position int, hash string) *objectArgs {
	if o == nil {
		o = &objectArgs{at: map[int]string{}, contents: map[string][]byte{}}
	}
	o.at[position] = hash
	if !slices.Contains(o.hashes, hash) {
		o.hashes = append(o.hashes, hash)
	}
	return o
}

// take sets the argument apart that begins there in the buffer.
func (o *objectArgs) take(position int, buffer *bytes.Buffer, begin int) *objectArgs {
	if o != nil && len(o.at) >= maxObjects {
		return o
	}
	content := buffer.Bytes()[begin:]
	hash := string(objects.Of(content))
	o = o.refer(position, hash)
	o.bytes += len(content) - len("null")
	if o.contents[hash] == nil {
		o.contents[hash] = bytes.Clone(content)
	}
	buffer.Truncate(begin)
	buffer.WriteString("null")
	return o
}

// whole is the JSON array with what was set apart, as the handler will see it. o may be nil.
func (o *objectArgs) whole(args []byte) []byte {
	if o == nil {
		return args
	}
	pieces, _ := splitArray(nil, args) // it was encoded here
	for position, hash := range o.at {
		if content := o.contents[hash]; content != nil && string(pieces[position]) == "null" {
			pieces[position] = content
		}
	}
	return joinArray(pieces)
}

// joinArray makes one JSON array of its elements.
func joinArray(pieces [][]byte) []byte {
	size := 2
	for _, piece := range pieces {
		size += len(piece) + 1
	}
	whole := append(make([]byte, 0, size), '[')
	for i, piece := range pieces {
		if i > 0 {
			whole = append(whole, ',')
		}
		whole = append(whole, piece...)
	}
	return append(whole, ']')
}
