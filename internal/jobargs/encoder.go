package jobargs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/exactjson"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/rawjson"
	"github.com/265d0351/work/internal/unquoted"
)

// Encode appends the JSON array of the arguments to dst, without those that are objects.
func (l Limits) Encode(dst []byte, job string, args []any) ([]byte, *Apart, error) {
	e := encoders.Get().(*encoder)
	defer e.release()
	e.buffer.Reset()
	e.buffer.WriteByte('[')
	var apart *Apart
	for i, arg := range args {
		if i > 0 {
			e.buffer.WriteByte(',')
		}
		begin := e.buffer.Len()
		if err := e.add(arg); err != nil {
			return dst, nil, refused(job, i, arg, err)
		}
		if e.buffer.Len()-begin < minShared {
			continue
		}
		if hash := referred(arg); hash != "" {
			apart = apart.refer(i, hash)
		} else if e.buffer.Len()-begin > l.Large {
			var err error
			if apart, err = apart.take(argument{i, begin, l.Seal}, &e.buffer); err != nil {
				return dst, nil, err
			}
		}
	}
	e.buffer.WriteByte(']')
	if err := l.check(job, e.buffer.Len(), apart); err != nil {
		return dst, nil, err
	}
	return append(dst, e.buffer.Bytes()...), apart, nil
}

// brokenText says where an argument has text that is not UTF-8. Two file names would become one in JSON, and so would
// two unique jobs.
type brokenText struct{ path string }

func (e *brokenText) Error() string { return "it has text that is not UTF-8" }

// refused names the argument that does not encode, from 1 on, and as Go writes it the field that is not UTF-8.
func refused(job string, i int, arg any, err error) error {
	what := fmt.Sprintf("argument %d of job %s", i+1, excerpt.Brief(job))
	if broken, is := err.(*brokenText); is {
		if broken.path != "" {
			what += fmt.Sprintf(" (args[%d]%s)", i, broken.path)
		}
		return invalid.NotUTF8(what)
	}
	return &invalid.Error{
		What: what, Value: fmt.Sprintf("a %T that does not encode as JSON (%s)", arg, excerpt.ErrorText(err)),
		Remedy: "pass a value that encoding/json can encode", Err: err, // addAny has removed what it quotes
	}
}

// EncodeAll appends the JSON array of the arguments to dst, all of them, of at most so many bytes.
func EncodeAll(dst []byte, job string, args []any, most int) ([]byte, error) {
	encoded, _, err := NewLimits(most, -1).Encode(dst, job, args)
	return encoded, err
}

// encoder encodes the arguments of jobs. It is kept between jobs, with its buffer.
type encoder struct {
	buffer bytes.Buffer
	json   *json.Encoder
}

// maxKeptBuffer is how large a buffer may be that is kept, so that one large job does not hold its memory for ever.
const maxKeptBuffer = 64 << 10

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(&e.buffer)
	e.json.SetEscapeHTML(false)
	return e
}}

func (e *encoder) release() {
	if e.buffer.Cap() <= maxKeptBuffer {
		encoders.Put(e)
	}
}

// add encodes one argument. The usual types are written as encoding/json writes them, without its detour.
func (e *encoder) add(arg any) error {
	space := e.buffer.AvailableBuffer()
	switch v := arg.(type) {
	case string:
		if !rawjson.IsPlain(v) {
			return e.addAny(arg)
		}
		space = append(append(append(space, '"'), v...), '"')
	case int:
		space = strconv.AppendInt(space, int64(v), 10)
	case int64:
		space = strconv.AppendInt(space, v, 10)
	case bool:
		space = strconv.AppendBool(space, v)
	default:
		return e.addAny(arg)
	}
	e.buffer.Write(space)
	return nil
}

// addAny leaves an argument to encoding/json. A MarshalJSON of the program's that panics is an argument that does not
// encode.
func (e *encoder) addAny(arg any) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("its encoding panicked with a %T, whose text may quote it", value)
		}
	}()
	begin := e.buffer.Len()
	if err := e.json.Encode(arg); err != nil {
		return unquoted.Error(errchain.Tame(err))
	}
	e.buffer.Truncate(e.buffer.Len() - 1) // the line feed that Encode adds
	if path, broken := exactjson.Broken(arg, e.buffer.Bytes()[begin:]); broken {
		return &brokenText{path}
	}
	return nil
}
