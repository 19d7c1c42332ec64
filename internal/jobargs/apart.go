package jobargs

import (
	"bytes"
	"slices"

	"github.com/265d0351/work/internal/rawjson"
	"github.com/265d0351/work/objects"
)

const (
	// minShared is how long the JSON of an argument is that may be a reference: it has a hash in it.
	minShared = 64
	// maxObjects is how many arguments of one job are objects: more large ones stay in the record, if it has room for
	// them.
	maxObjects = 64
)

// Apart are the arguments of one job that are objects. In the record null stands for one that was set apart, and a
// reference that the program made stays as it is.
type Apart struct {
	At       map[int]string    // position -> hash
	Hashes   []string          // each once
	Contents map[string][]byte // by hash: of those that this enqueue brings along
	bytes    int               // of all that were set apart
	open     []opened          // those whose contents are stored otherwise
}

// opened is an argument that was set apart, as it was.
type opened struct {
	position int
	content  []byte
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
func (o *Apart) refer(position int, hash string) *Apart {
	if o == nil {
		o = &Apart{At: map[int]string{}, Contents: map[string][]byte{}}
	}
	o.At[position] = hash
	if !slices.Contains(o.Hashes, hash) {
		o.Hashes = append(o.Hashes, hash)
	}
	return o
}

// argument is one that is to be set apart.
type argument struct {
	position, begin int // begin in the buffer
	seal            func([]byte) ([]byte, error)
}

// take sets the argument apart with which the buffer ends.
func (o *Apart) take(a argument, buffer *bytes.Buffer) (*Apart, error) {
	if o != nil && len(o.At) >= maxObjects {
		return o, nil
	}
	content := buffer.Bytes()[a.begin:]
	stored := content
	if a.seal != nil {
		var err error
		if stored, err = a.seal(content); err != nil {
			return nil, err
		}
	}
	hash := string(objects.Of(stored))
	o = o.refer(a.position, hash)
	o.bytes += len(content) - len("null")
	if o.Contents[hash] == nil {
		o.Contents[hash] = bytes.Clone(stored)
	}
	if a.seal != nil {
		o.open = append(o.open, opened{a.position, bytes.Clone(content)})
	}
	buffer.Truncate(a.begin)
	buffer.WriteString("null")
	return o, nil
}

// Whole is the JSON array with what was set apart, as the handler will see it. o may be nil.
func (o *Apart) Whole(args []byte) []byte {
	if o == nil {
		return args
	}
	pieces, _ := rawjson.Split(nil, args) // it was encoded here
	for _, one := range o.open {
		pieces[one.position] = one.content
	}
	for position, hash := range o.At {
		if content := o.Contents[hash]; content != nil && string(pieces[position]) == "null" {
			pieces[position] = content
		}
	}
	return rawjson.Join(pieces)
}

// Share lets jobs that bring the same contents along hold each once: known are those of the jobs before.
func Share(contents, known map[string][]byte) {
	for hash, content := range contents {
		if first := known[hash]; first != nil {
			contents[hash] = first
		} else {
			known[hash] = content
		}
	}
}
