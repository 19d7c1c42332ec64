package rdb

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var objectKeepScript = redisconn.Load("object/keep")

// ObjectPiece is how many bytes of a content one request writes or reads.
const ObjectPiece = 1 << 20

// piecesAtOnce keeps a reply within about 4 MiB.
const piecesAtOnce = 4

// Upload is a content on its way into Redis. Nobody else writes to it: the token is the uploader's own.
type Upload struct {
	SHA, Token string
	Content    []byte
	Life       time.Duration // how long what was written outlives its uploader, from the last piece on
}

// WritePiece writes the piece that begins at offset, at most [ObjectPiece] bytes, and answers where the next one
// begins. It is [ObjectLost] if what was written before has expired. A full Redis refuses it.
func (o Objects) WritePiece(ctx context.Context, u Upload, offset int) (next int, state ObjectState, err error) {
	key, life := o.Store.keys.upload(u.SHA, u.Token), millis(u.Life)
	next = min(len(u.Content), offset+ObjectPiece)
	piece := u.Content[offset:next]
	if offset == 0 {
		_, err := redisconn.Do(ctx, o.Store.driver, redisconn.Call{Command: "SET", Args: []any{key, piece, "PX", life}})
		return next, ObjectKept, err
	}
	// A transaction and no script: Redis then refuses the piece when its memory is full, and a connection that breaks
	// in the middle leaves no key without a time to live.
	replies, err := o.Store.driver.Pipeline(ctx,
		redisconn.Call{Command: "MULTI"},
		redisconn.Call{Command: "STRLEN", Args: []any{key}},
		redisconn.Call{Command: "SETRANGE", Args: []any{key, offset, piece}},
		redisconn.Call{Command: "PEXPIRE", Args: []any{key, life}},
		redisconn.Call{Command: "EXEC"})
	if err != nil {
		return 0, "", err
	}
	before, err := firstOf(replies)
	if err != nil {
		return 0, "", err
	}
	if before < int64(offset) {
		return 0, ObjectLost, nil
	}
	return next, ObjectKept, nil
}

// firstOf reads the number that the first command of a transaction answered; a refusal of any of them is an error.
func firstOf(replies []redisconn.Reply) (int64, error) {
	for _, reply := range replies {
		if reply.Err != nil {
			return 0, reply.Err
		}
	}
	executed := replies[len(replies)-1].Value
	r := redisconn.Read("EXEC", executed)
	first := r.Number()
	for r.More() {
		if refused, is := r.Next().(*redisconn.ServerError); is {
			return 0, refused
		}
	}
	return first, r.Err()
}

// Keep makes the upload the object. It is [ObjectKept], [ObjectPresent] if somebody was faster, or [ObjectLost].
func (o Objects) Keep(ctx context.Context, u Upload) (ObjectState, error) {
	k := o.Store.keys
	return o.state(ctx, redisconn.Call{
		Script: objectKeepScript,
		Keys:   []string{k.objects, k.object(u.SHA).content, k.upload(u.SHA, u.Token)},
		Args:   []any{u.SHA, len(u.Content)},
	})
}

// Content is what was read of an object.
type Content struct {
	Bytes  []byte // nil where it is longer than asked for
	Length int    // as Redis says
	Found  bool
}

// Content reads an object of at most so many bytes, in pieces. One that vanishes meanwhile is not found.
func (o Objects) Content(ctx context.Context, sha string, most int) (Content, error) {
	key := o.Store.keys.object(sha).content
	values, err := o.Store.many(ctx, []redisconn.Call{
		{Command: "EXISTS", Args: []any{key}}, {Command: "STRLEN", Args: []any{key}}, rangeCall(key, 0),
	})
	if err != nil {
		return Content{}, err
	}
	r := redisconn.Read("GETRANGE", values)
	c := Content{Found: r.Number() == 1, Length: int(r.Number())}
	first := r.Bytes()
	if r.Err() != nil || !c.Found || c.Length > most {
		return c, r.Err()
	}
	c.Bytes = append(make([]byte, 0, c.Length), first...)
	for len(c.Bytes) < c.Length {
		if err := o.appendPieces(ctx, key, &c); err != nil {
			return Content{}, err
		}
		if !c.Found {
			return Content{}, nil
		}
	}
	return c, nil
}

// appendPieces reads the next few pieces. Less than was asked for means that the object has vanished or is another one.
func (o Objects) appendPieces(ctx context.Context, key string, c *Content) error {
	var calls []redisconn.Call
	from := len(c.Bytes)
	for offset := from; offset < c.Length && len(calls) < piecesAtOnce; offset += ObjectPiece {
		calls = append(calls, rangeCall(key, offset))
	}
	values, err := o.Store.many(ctx, calls)
	if err != nil {
		return err
	}
	r := redisconn.Read("GETRANGE", values)
	for r.More() {
		c.Bytes = append(c.Bytes, r.Bytes()...)
	}
	c.Found = len(c.Bytes) == min(c.Length, from+len(calls)*ObjectPiece)
	return r.Err()
}

func rangeCall(key string, offset int) redisconn.Call {
	return redisconn.Call{Command: "GETRANGE", Args: []any{key, offset, offset + ObjectPiece - 1}}
}
