package goredis

import (
	"fmt"

	"github.com/265d0351/work/internal/redisconn"
)

// arguments are a call as go-redis takes it. full sends a script by its text.
func arguments(c *redisconn.Call, full bool) []any {
	args := make([]any, 0, 3+len(c.Keys)+len(c.Args))
	switch {
	case c.Script == nil:
		args = append(args, c.Command)
	case full:
		args = append(args, "EVAL", c.Script.Source, len(c.Keys))
	default:
		args = append(args, "EVALSHA", c.Script.SHA, len(c.Keys))
	}
	for _, key := range c.Keys {
		args = append(args, key)
	}
	for _, arg := range c.Args {
		args = append(args, redisconn.Plain(arg))
	}
	return args
}

// textOf is a value as it stands on the wire.
func textOf(value any) []byte {
	switch v := redisconn.Plain(value).(type) {
	case []byte:
		return v
	case bool:
		if v {
			return []byte("1")
		}
		return []byte("0")
	}
	return fmt.Append(nil, redisconn.Plain(value))
}

// sizeOf is about how many bytes a call has.
func sizeOf(c *redisconn.Call) int {
	size := 0
	if c.Script != nil {
		size = len(c.Script.SHA)
	}
	for _, key := range c.Keys {
		size += len(key)
	}
	for _, arg := range c.Args {
		switch a := redisconn.Plain(arg).(type) {
		case string:
			size += len(a)
		case []byte:
			size += len(a)
		default:
			size += 8
		}
	}
	return size
}
