package work

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/265d0351/work/internal/unquoted"
)

// argsEncoder encodes the arguments of jobs. It is kept between jobs, with its buffer.
type argsEncoder struct {
	buffer bytes.Buffer
	json   *json.Encoder
}

// maxKeptBuffer is how large a buffer may be that is kept, so that one large job does not hold its memory for ever.
const maxKeptBuffer = 64 << 10

var argsEncoders = sync.Pool{New: func() any {
	e := &argsEncoder{}
	e.json = json.NewEncoder(&e.buffer)
	e.json.SetEscapeHTML(false)
	return e
}}

// encodeArgs appends the JSON array of the arguments to dst, all of them.
func encodeArgs(dst []byte, job string, args []any, most int) ([]byte, error) {
	encoded, _, err := newArgsLimits(most, -1).encode(dst, job, args)
	return encoded, err
}

func (e *argsEncoder) release() {
	if e.buffer.Cap() <= maxKeptBuffer {
		argsEncoders.Put(e)
	}
}

// add encodes one argument. The usual types are written as encoding/json writes them, without its detour.
func (e *argsEncoder) add(arg any) error {
	space := e.buffer.AvailableBuffer()
	switch v := arg.(type) {
	case string:
		if !isPlain(v) {
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
func (e *argsEncoder) addAny(arg any) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("its encoding panicked with a %T, whose text may quote it", value)
		}
	}()
	if err := e.json.Encode(arg); err != nil {
		return unquoted.Error(tame(err))
	}
	e.buffer.Truncate(e.buffer.Len() - 1) // the line feed that Encode adds
	return nil
}
