package embedded_test

import (
	"crypto/sha1" // the name of a script
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// Each row is a difference that the package doc lists. It fails when the difference is gone: then the doc is wrong.
// A text is what the last call answers, or how that begins.
func TestDifferencesFromRedis(t *testing.T) {
	t.Parallel()
	const failed = "error: ERR Error compiling script (new function): :1: "
	wrongType := []redisconn.Call{cmd("SET", "K", "x"), lua(`return redis.call('LPUSH', KEYS[1], 'x')`, "K")}
	for name, row := range map[string]struct {
		calls          []redisconn.Call
		real, embedded string
	}{
		"a failed command in a script loses its code": {wrongType,
			"error: WRONGTYPE Operation", failed + "WRONGTYPE Operation"},
		"a raised error table loses its text": {[]redisconn.Call{lua(`error(redis.error_reply('FOO bar'))`)},
			"error: FOO bar", "error: ERR Error compiling script (new function): table: 0x"},
		"a raised text comes with a stack": {[]redisconn.Call{lua(`error('FOO')`)},
			"error: ERR user_script:1: FOO script:", failed + "FOO stack traceback:"},
		"a percent sign in a raised text is mangled": {[]redisconn.Call{lua(`error('90% %d')`)},
			"error: ERR user_script:1: 90% %d", failed + "90%"},
		"unpack is limited": {[]redisconn.Call{lua(
			`local a = {} for i = 1, 7000 do a[i] = 'x' end return #{unpack(a)}`)},
			"7000", failed + "registry overflow"},
		"tostring keeps 16 digits": {[]redisconn.Call{lua(`return tostring(1234567890123456)`)},
			`"1.2345678901235e+15"`, `"1234567890123456"`},
		"a large number as an argument keeps its digits": {
			[]redisconn.Call{lua(`redis.call('SET', KEYS[1], 123456789012345678) return redis.call('GET', KEYS[1])`,
				"K")},
			`"1.2345678901234568e+17"`, `"123456789012345680"`},
		"a fraction as an argument is short": {
			[]redisconn.Call{lua(`redis.call('SET', KEYS[1], 0.1) return redis.call('GET', KEYS[1])`, "K")},
			`"0.10000000000000001"`, `"0.1"`},
		"leading zeros make an octal number": {[]redisconn.Call{lua(`return '010' + 0`)}, "10", "8"},
		"cjson keeps 16 digits": {[]redisconn.Call{lua(`return cjson.encode({1234567890123456})`)},
			`"[1.2345678901235e+15]"`, `"[1234567890123456]"`},
		"cjson keeps an empty list": {[]redisconn.Call{lua(`return cjson.encode(cjson.decode('[]'))`)}, `"{}"`, `"[]"`},
		"cjson drops null":          {[]redisconn.Call{lua(`return type(cjson.null)`)}, `"userdata"`, `"nil"`},
		"no cmsgpack":               {[]redisconn.Call{lua(`return type(cmsgpack)`)}, `"table"`, "error: ERR"},
		"no bit":                    {[]redisconn.Call{lua(`return type(bit)`)}, `"table"`, "error: ERR"},
		"no struct":                 {[]redisconn.Call{lua(`return type(struct)`)}, `"table"`, "error: ERR"},
		"print and os are there": {[]redisconn.Call{lua(`return type(print) .. type(os)`)}, "error: ERR",
			`"functiontable"`},
		"Lua 5.2's goto is there": {[]redisconn.Call{lua(`goto done ::done:: return 1`)}, "error: ERR", "1"},
		"a script may block": {[]redisconn.Call{lua(`return redis.call('BLPOP', KEYS[1], 0.01)`, "K")},
			"error: ERR This Redis command", "nil"},
		"no REDIS_VERSION":          {[]redisconn.Call{lua(`return type(redis.REDIS_VERSION)`)}, `"string"`, `"nil"`},
		"a double reply is a table": {[]redisconn.Call{lua(`return {double = 3.5}`)}, `"3.5"`, "[]"},
		"ZADD takes NaN": {[]redisconn.Call{cmd("ZADD", "K", "NaN", "x")}, "error: ERR value is not a valid float",
			"1"},
		"HSCAN ignores COUNT": {append(hash("K", 1000),
			lua(`return redis.call('HSCAN', KEYS[1], 0, 'COUNT', 10)[1] == '0' and 1 or 0`, "K")), "0", "1"},
		"HKEYS is sorted": {append(hash("K", 1000), lua(`local a, b = redis.call('HKEYS', KEYS[1]), redis.call('HKEYS', KEYS[1])
			table.sort(b) return table.concat(a) == table.concat(b) and 1 or 0`, "K")), "0", "1"},
		"no CONFIG": {[]redisconn.Call{cmd("CONFIG", "", "GET", "maxmemory")}, `["maxmemory"`,
			"error: ERR unknown command"},
		"no DEBUG": {[]redisconn.Call{cmd("DEBUG", "", "JMAP")}, "error: ERR",
			"error: ERR unknown command"},
		"no SLOWLOG":     {[]redisconn.Call{cmd("SLOWLOG", "", "LEN")}, "", "error: ERR unknown command"},
		"no CLIENT LIST": {[]redisconn.Call{cmd("CLIENT", "", "LIST")}, `"id=`, "error: ERR"},
		"no CLIENT KILL": {[]redisconn.Call{cmd("CLIENT", "", "KILL", "ID", "999999")}, "0", "error: ERR"},
		"no OBJECT ENCODING": {[]redisconn.Call{cmd("SET", "K", "1"), cmd("OBJECT", "", "ENCODING", "K")}, `"int"`,
			"error: ERR unknown subcommand"},
		"no MONITOR": {[]redisconn.Call{cmd("MONITOR", "")}, "OK", "error: ERR unknown command"},
		"no REPLICAOF": {[]redisconn.Call{cmd("REPLICAOF", "", "NO", "ONE")}, "OK",
			"error: ERR unknown command"},
		"no INFO server": {[]redisconn.Call{cmd("INFO", "", "server")}, `"# Server`, "error: section"},
		"no INFO memory": {[]redisconn.Call{cmd("INFO", "", "memory")}, `"# Memory`, "error: section"},
		"no INFO commandstats": {[]redisconn.Call{cmd("INFO", "", "commandstats")}, `"# Commandstats`,
			"error: section"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				got := last(t, s, row.calls)
				want, other := row.real, row.embedded
				if s.Embedded() != nil {
					want, other = other, want
				}
				assert.True(t, strings.HasPrefix(got, want), "want %s, got %s", want, got)
				if other != "" && !strings.HasPrefix(want, other) {
					assert.False(t, strings.HasPrefix(got, other), "the difference is gone: %s", got)
				}
			})
		})
	}
}

// What the framework uses is alike.
func TestSameAsRedis(t *testing.T) {
	t.Parallel()
	list := cmd("RPUSH", "K", "a", "b", "c", "b")
	sets := []redisconn.Call{cmd("SADD", "K", "a", "b"), cmd("SADD", "L", "b", "c")}
	zset := cmd("ZADD", "K", 5, "a", 1700000000123, "b")
	for name, row := range map[string]struct {
		calls []redisconn.Call
		want  string
	}{
		"pcall gives an error with its code": {[]redisconn.Call{cmd("SET", "K", "x"),
			lua(`return redis.pcall('LPUSH', KEYS[1], 'x').err`, "K")}, `"WRONGTYPE Operation`},
		"a returned error keeps its code": {[]redisconn.Call{cmd("SET", "K", "x"),
			lua(`return redis.pcall('LPUSH', KEYS[1], 'x')`, "K")}, "error: WRONGTYPE Operation"},
		"error_reply keeps its code": {[]redisconn.Call{lua(`return redis.error_reply('FOO bar')`)},
			"error: FOO bar"},
		"error_reply of one word": {[]redisconn.Call{lua(`return redis.error_reply('FOO')`)}, "error: ERR FOO"},
		"error_reply with its dash": {[]redisconn.Call{lua(`return redis.error_reply('-FOO bar')`)},
			"error: FOO bar"},
		"an error inside an array": {[]redisconn.Call{lua(`return {1, redis.error_reply('FOO bar')}`)},
			"[1 error: FOO bar]"},
		"a script that is not known": {[]redisconn.Call{cmd("EVALSHA", "", strings.Repeat("0", 40), 0)},
			"error: NOSCRIPT "},
		"an array ends at nil": {[]redisconn.Call{lua(`return {1, nil, 3}`)}, "[1]"},
		"false is nil":         {[]redisconn.Call{lua(`return {1, false, 3}`)}, "[1 nil 3]"},
		"a missing value is false": {[]redisconn.Call{lua(`return type(redis.call('GET', KEYS[1]))`, "K")},
			`"boolean"`},
		"a status is a table": {[]redisconn.Call{lua(`return redis.call('SET', KEYS[1], 'x').ok`, "K")},
			`"OK"`},
		"TYPE is a status": {[]redisconn.Call{lua(`return redis.call('TYPE', KEYS[1]).ok`, "K")},
			`"none"`},
		"14 digits":                    {[]redisconn.Call{lua(`return 12345678901234 .. ''`)}, `"12345678901234"`},
		"no global variables":          {[]redisconn.Call{lua(`x = 1`)}, "error: ERR"},
		"RPOP with a count":            {[]redisconn.Call{list, cmd("RPOP", "K", 2)}, `["b" "c"]`},
		"RPOP with a count of nothing": {[]redisconn.Call{cmd("RPOP", "K", 2)}, "nil"},
		"RPOP with a count, in a script": {[]redisconn.Call{lua(`return type(redis.call('RPOP', KEYS[1], 2))`, "K")},
			`"boolean"`},
		"LPOS":               {[]redisconn.Call{list, cmd("LPOS", "K", "b", "RANK", -1, "MAXLEN", 2)}, "3"},
		"LPOS beyond MAXLEN": {[]redisconn.Call{list, cmd("LPOS", "K", "b", "MAXLEN", 1)}, "nil"},
		"LREM of one": {[]redisconn.Call{list, cmd("LREM", "K", 1, "b"), cmd("LRANGE", "K", 0, -1)},
			`["a" "c" "b"]`},
		"LMOVE":      {[]redisconn.Call{list, cmd("LMOVE", "K", "L", "RIGHT", "LEFT")}, `"b"`},
		"SMISMEMBER": {append(sets, cmd("SMISMEMBER", "K", "a", "x")), "[1 0]"},
		"SINTER": {append(sets,
			lua(`return redis.call('SINTER', KEYS[1], KEYS[2])`, "K", "L")), `["b"]`},
		"ZADD NX":       {[]redisconn.Call{zset, cmd("ZADD", "K", "NX", 7, "a", 8, "c")}, "1"},
		"ZADD XX GT CH": {[]redisconn.Call{zset, cmd("ZADD", "K", "XX", "GT", "CH", 4, "a")}, "0"},
		"ZRANGEBYSCORE": {[]redisconn.Call{zset,
			cmd("ZRANGEBYSCORE", "K", "-inf", 1700000000123, "WITHSCORES", "LIMIT", 1, 5)}, `["b" "1700000000123"]`},
		"HRANDFIELD": {append(hash("K", 3),
			lua(`return #redis.call('HRANDFIELD', KEYS[1], 5)`, "K")), "3"},
		"UNLINK of two":      {[]redisconn.Call{list, cmd("UNLINK", "K", "L")}, "1"},
		"EXISTS counts":      {[]redisconn.Call{list, cmd("EXISTS", "K", "L", "K")}, "2"},
		"PEXPIRE of nothing": {[]redisconn.Call{cmd("PEXPIRE", "K", 1000)}, "0"},
		"SET PX and PTTL": {[]redisconn.Call{cmd("SET", "K", "x", "PX", 60_000),
			lua(`return redis.call('PTTL', KEYS[1]) > 50000`, "K")}, "1"},
		"a TTL runs while nothing touches it": {[]redisconn.Call{cmd("SET", "K", "x", "PX", 20),
			blpop("L", 60*time.Millisecond), cmd("EXISTS", "K")}, "0"},
		"BLPOP with a fraction of a second": {[]redisconn.Call{blpop("K", 20*time.Millisecond)}, "nil"},
		"TIME in a script is text": {[]redisconn.Call{lua(
			`local t = redis.call('TIME') return type(t[1]) .. #t[1]`)}, `"string10"`},
		"bytes are kept": {[]redisconn.Call{cmd("SET", "K", "\x00\xff\r\n"), cmd("GET", "K")},
			`"\x00\xff\r\n"`},
		"SETRANGE pads": {[]redisconn.Call{cmd("SETRANGE", "K", 2, "x"), cmd("GETRANGE", "K", 0, -1)},
			`"\x00\x00x"`},
		"a failed script keeps what it wrote": {[]redisconn.Call{lua(`redis.call('SET', KEYS[1], 'x') error('no')`,
			"K"), cmd("EXISTS", "K")}, "1"},
		"a push of no value is an error": {[]redisconn.Call{cmd("LPUSH", "K")}, "error: ERR wrong number of arguments"},
		"PING on an ordinary connection": {[]redisconn.Call{cmd("PING", "")}, "PONG"},
		"INCRBY beyond int64": {[]redisconn.Call{cmd("SET", "K", "9223372036854775807"), cmd("INCR", "K")},
			"error: ERR increment or decrement would overflow"},
		"HINCRBY on text": {[]redisconn.Call{cmd("HSET", "K", "f", "x"), cmd("HINCRBY", "K", "f", 1)},
			"error: ERR"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				got := last(t, s, row.calls)
				assert.True(t, strings.HasPrefix(got, row.want), "want %s, got %s", row.want, got)
			})
		})
	}
}

func cmd(command, key string, args ...any) redisconn.Call {
	call := redisconn.Call{Command: command, Args: args}
	if key != "" {
		call.Keys = []string{key}
	}
	return call
}

func blpop(key string, wait time.Duration) redisconn.Call {
	return redisconn.Call{Command: "BLPOP", Keys: []string{key},
		Args:  []any{strconv.FormatFloat(wait.Seconds(), 'f', 3, 64)},
		Block: wait}
}

func lua(source string, keys ...string) redisconn.Call {
	sum := sha1.Sum([]byte(source)) // as above
	return redisconn.Call{Script: &redisconn.Script{Name: "probe", Source: source, SHA: hex.EncodeToString(sum[:])},
		Keys: keys}
}

// hash fills a hash with fields that Redis does not keep in order.
func hash(key string, n int) []redisconn.Call {
	var args []any
	for i := range n {
		args = append(args, "field-"+strconv.Itoa(i), strings.Repeat("x", 65))
	}
	return []redisconn.Call{cmd("HSET", key, args...)}
}

// last runs the calls on a connection of its own and shows the last reply. Keys of one letter get a namespace, as do
// such letters among the arguments of commands that take more keys.
func last(t *testing.T, s redistest.Server, calls []redisconn.Call) string {
	t.Helper()
	d, err := redisconn.Open(s.DSN())
	require.NoError(t, err)
	defer d.Close() //lint:ignore errcheck the end of the test
	conn, err := d.Dial(t.Context())
	require.NoError(t, err)
	defer conn.Close() //lint:ignore errcheck the end of the test
	namespace := redistest.Namespace(t)
	spaced := func(name string) string {
		if name == "K" || name == "L" {
			return "{" + namespace + "}:" + name
		}
		return name
	}
	var reply redisconn.Reply
	for _, call := range calls {
		own := call
		own.Keys, own.Args = nil, nil
		for _, key := range call.Keys {
			own.Keys = append(own.Keys, spaced(key))
		}
		for _, arg := range call.Args {
			if text, ok := arg.(string); ok {
				arg = spaced(text)
			}
			own.Args = append(own.Args, arg)
		}
		replies, err := conn.Pipeline(t.Context(), own)
		require.NoError(t, err)
		reply = replies[0]
	}
	if reply.Err != nil {
		return show(reply.Err)
	}
	return show(reply.Value)
}

func show(value any) string {
	switch v := value.(type) {
	case nil:
		return "nil"
	case error:
		return "error: " + v.Error()
	case []byte:
		return strconv.Quote(string(v))
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = show(v[i])
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return fmt.Sprint(value)
}
