package rueidisdriver

import (
	"strconv"

	"github.com/redis/rueidis"

	"github.com/265d0351/work/internal/redisconn"
)

// command is a call as rueidis takes it. full sends a script by its text.
func command(b rueidis.Builder, c *redisconn.Call, full bool) rueidis.Completed {
	words := make([]string, 0, 2+len(c.Args))
	name := c.Command
	switch {
	case c.Script == nil:
	case full:
		name, words = "EVAL", append(words, c.Script.Source, strconv.Itoa(len(c.Keys)))
	default:
		name, words = "EVALSHA", append(words, c.Script.SHA, strconv.Itoa(len(c.Keys)))
	}
	built := b.Arbitrary(name).Args(words...).Keys(c.Keys...).Args(texts(words[len(words):], c.Args)...)
	if c.Block > 0 {
		return built.Blocking()
	}
	return built.Build()
}

// texts are arguments as they stand on the wire, behind those of into.
func texts(into []string, args []any) []string {
	for _, arg := range args {
		switch a := redisconn.Plain(arg).(type) {
		case string:
			into = append(into, a)
		case []byte:
			into = append(into, rueidis.BinaryString(a)) // not copied: the caller leaves it alone until the reply
		case int:
			into = append(into, strconv.Itoa(a))
		case int64:
			into = append(into, strconv.FormatInt(a, 10))
		case bool:
			into = append(into, map[bool]string{true: "1", false: "0"}[a])
		}
	}
	return into
}

// valueOf is a reply. A status cannot be told from a string here but by what it says.
func valueOf(m *rueidis.RedisMessage) any {
	switch {
	case m.IsNil():
		return nil
	case m.IsInt64():
		n, _ := m.ToInt64() // it was just asked
		return n
	case m.IsArray():
		items, _ := m.ToArray() // as above
		list := make([]any, len(items))
		for i := range items {
			list[i] = valueOf(&items[i])
		}
		return list
	case m.Error() != nil:
		return redisconn.ParseServerError(m.Error().Error())
	}
	switch text, _ := m.AsBytes(); string(text) {
	case "OK", "PONG":
		return string(text)
	default:
		return text
	}
}
