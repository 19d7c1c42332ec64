package redisconn

import (
	"slices"
	"strconv"
	"time"

	"github.com/gomodule/redigo/redis"
)

const (
	// keptBuffer is how large a buffer may be that a connection keeps for its next pipeline.
	keptBuffer = 128 << 10
	// directly is how large an argument is that goes to the socket by itself: to copy it would cost more.
	directly = 64 << 10
)

// ownConn is a connection of a pool of ours. It writes pipelines by itself: redigo takes each argument as an interface
// value, and to make those costs an allocation for each key, id and record.
type ownConn struct {
	redigoConnection
	socket *patientConn
	out    []byte // is written by the next Flush
}

// redigoConnection is all that redigo's connections can do, and its pool asks for.
type redigoConnection interface {
	redis.ConnWithTimeout
	redis.ConnWithContext
}

// batch is a pipeline on its way through the methods of a redis.Conn, as the only argument of a command.
type batch struct {
	calls []Call
	full  bool      // scripts go by their text, each once, and not by their hash
	until time.Time // it must be written by then; the zero time is no bound

	late   lateReplies // is told when a reply is late; nil: nobody
	lateAt time.Time

	size   int          // about how many bytes it has, once it was sent
	socket *patientConn // by which it was sent
}

// Send takes a batch, or what redigo itself sends.
func (c *ownConn) Send(command string, args ...any) error {
	if len(args) == 1 {
		if b, is := args[0].(*batch); is {
			return c.sendBatch(b)
		}
	}
	return c.redigoConnection.Send(command, args...)
}

func (c *ownConn) sendBatch(b *batch) error {
	var known map[*Script]bool
	if b.full {
		known = map[*Script]bool{}
	}
	b.size, b.socket = 0, c.socket
	c.socket.until, c.socket.late, c.socket.lateAt = b.until, b.late, b.lateAt
	for i := range b.calls {
		call := &b.calls[i]
		inFull := call.InFull || b.full && !known[call.Script]
		if b.full {
			known[call.Script] = true
		}
		size := call.size(inFull)
		b.size += size
		c.out = slices.Grow(c.out, min(size, keptBuffer)+perArgument*(3+len(call.Keys)+len(call.Args)))
		if err := c.write(call, inFull); err != nil {
			return err
		}
	}
	return nil
}

// perArgument is about how much stands around an argument on the wire.
const perArgument = 12

// write puts a call into the buffer.
func (c *ownConn) write(call *Call, full bool) error {
	head := 1
	if call.Script != nil {
		head = 3
	}
	c.out = appendLength(c.out, '*', head+len(call.Keys)+len(call.Args))
	switch {
	case call.Script == nil:
		c.out = appendText(c.out, call.Command)
	case full:
		c.out = appendNumber(appendText(appendText(c.out, "EVAL"), call.Script.Source), int64(len(call.Keys)))
	default:
		c.out = appendNumber(appendText(appendText(c.out, "EVALSHA"), call.Script.SHA), int64(len(call.Keys)))
	}
	for _, key := range call.Keys {
		c.out = appendText(c.out, key)
	}
	for _, arg := range call.Args {
		if err := c.writeArgument(arg); err != nil {
			return err
		}
	}
	return nil
}

func (c *ownConn) writeArgument(arg any) error {
	switch a := arg.(type) {
	case string:
		c.out = appendText(c.out, a)
	case *string:
		c.out = appendText(c.out, *a)
	case []byte:
		return c.writeBytes(a)
	case *[]byte:
		return c.writeBytes(*a)
	case int:
		c.out = appendNumber(c.out, int64(a))
	case int64:
		c.out = appendNumber(c.out, a)
	case bool:
		c.out = appendText(c.out, map[bool]string{true: "1", false: "0"}[a])
	}
	return nil
}

func (c *ownConn) writeBytes(text []byte) error {
	if len(text) < directly {
		c.out = appendText(c.out, text)
		return nil
	}
	c.out = appendLength(c.out, '$', len(text))
	if err := c.Flush(); err != nil {
		return err
	}
	if _, err := c.socket.Write(text); err != nil {
		return c.broken(err)
	}
	c.out = append(c.out, "\r\n"...)
	return nil
}

// Flush writes what was sent.
func (c *ownConn) Flush() error {
	if len(c.out) == 0 {
		return c.redigoConnection.Flush()
	}
	_, err := c.socket.Write(c.out)
	if c.out = c.out[:0]; cap(c.out) > keptBuffer {
		c.out = nil
	}
	if err != nil {
		return c.broken(err)
	}
	return nil
}

// broken closes the connection, so that its pool does not keep it.
func (c *ownConn) broken(err error) error {
	c.redigoConnection.Close() //lint:ignore errcheck err tells why
	return err
}

func appendLength(out []byte, kind byte, n int) []byte {
	return append(strconv.AppendInt(append(out, kind), int64(n), 10), "\r\n"...)
}

func appendText[T string | []byte](out []byte, text T) []byte {
	return append(append(appendLength(out, '$', len(text)), text...), "\r\n"...)
}

func appendNumber(out []byte, n int64) []byte {
	var digits [20]byte
	return appendText(out, strconv.AppendInt(digits[:0], n, 10))
}

// size is about how many bytes a call has on the wire.
func (c *Call) size(full bool) int {
	n := len(c.Command)
	switch {
	case c.Script == nil:
	case full:
		n = len(c.Script.Source)
	default:
		n = len(c.Script.SHA)
	}
	for _, key := range c.Keys {
		n += len(key)
	}
	for _, arg := range c.Args {
		n += argumentSize(arg)
	}
	return n
}

// sizeOf is about how many bytes calls have on the wire, with scripts by their hash.
func sizeOf(calls []Call) (n int) {
	for i := range calls {
		n += calls[i].size(calls[i].InFull)
	}
	return n
}

func argumentSize(arg any) int {
	switch a := arg.(type) {
	case string:
		return len(a)
	case *string:
		return len(*a)
	case []byte:
		return len(a)
	case *[]byte:
		return len(*a)
	}
	return 8
}
