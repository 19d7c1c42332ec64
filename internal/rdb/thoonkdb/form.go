package thoonkdb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/265d0351/work/internal/redisconn"
)

// FormError means that a key has a type that no form of a feed has there. Nothing was done.
type FormError struct {
	Key   string
	Found string   // type, as Redis names it
	Want  []string // types
}

func (e *FormError) Error() string {
	return fmt.Sprintf("key %q is a %s, not a %s", e.Key, e.Found, strings.Join(e.Want, " or "))
}

// parseFormError reads what a script answers: "BADFORM found,want,want key".
func parseFormError(message string) error {
	_, rest, _ := strings.Cut(message, " ")
	types, key, _ := strings.Cut(rest, " ")
	list := strings.Split(types, ",")
	return &FormError{Key: key, Found: list[0], Want: list[1:]}
}

// as is how a key of one type is read.
type as struct {
	typ     string
	command string
	args    []any
}

// lookAt reads a key that has one of several types, by a command for each, in one round trip. Where it is not there the
// value is nil. It fails with [ErrNoFeed] or a [*FormError].
func (f *Feed) lookAt(ctx context.Context, key string, ways ...as) (typ string, value any, err error) {
	calls := []redisconn.Call{of("TYPE", key)}
	for _, way := range ways {
		calls = append(calls, of(way.command, key, way.args...))
	}
	replies, err := f.replies(ctx, calls...)
	if err != nil {
		return "", nil, err
	}
	return chosen(key, replies[0], replies[1:], ways)
}

// chosen is the reply to the command that fits the type. A key that changed its type in between counts as the other.
func chosen(key string, found redisconn.Reply, replies []redisconn.Reply, ways []as) (typ string, value any,
	err error) {
	if found.Err != nil {
		return "", nil, found.Err
	}
	typ = text(found.Value)
	at := slices.IndexFunc(ways, func(w as) bool { return w.typ == typ })
	switch {
	case typ == "none":
		return typ, nil, nil
	case at < 0:
		wrong := &FormError{Key: key, Found: typ}
		for _, way := range ways {
			wrong.Want = append(wrong.Want, way.typ)
		}
		return typ, nil, wrong
	}
	return typ, replies[at].Value, replies[at].Err
}

// text is a reply that is one string.
func text(reply any) string {
	switch reply := reply.(type) {
	case string:
		return reply
	case []byte:
		return string(reply)
	}
	return ""
}

// optional is a reply, or nothing where the key has the type of another form.
func optional(reply redisconn.Reply) (any, error) {
	var refused *redisconn.ServerError
	if errors.As(reply.Err, &refused) && refused.Code == "WRONGTYPE" {
		return nil, nil
	}
	return reply.Value, reply.Err
}

// Framed is how scripts are told of a config that is a hash: a NUL, and each field and value behind its length.
func Framed(fields map[string]string) string {
	var framed strings.Builder
	framed.WriteByte(0)
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, text := range []string{name, fields[name]} {
			framed.WriteString(strconv.Itoa(len(text)) + ":" + text)
		}
	}
	return framed.String()
}

// Unframed returns the fields of a config that is a hash, and false for another.
func Unframed(config string) (map[string]string, bool) {
	rest, isHash := strings.CutPrefix(config, "\x00")
	if !isHash {
		return nil, false
	}
	fields := map[string]string{}
	for rest != "" {
		var name, value string
		name, rest = frame(rest)
		value, rest = frame(rest)
		fields[name] = value
	}
	return fields, true
}

func frame(framed string) (text, rest string) {
	digits, behind, _ := strings.Cut(framed, ":")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || n > len(behind) {
		return "", ""
	}
	return behind[:n], behind[n:]
}
