package goredis

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	refused := &redisconn.ServerError{Code: "MINE", Message: "MINE own"}
	for text, want := range map[string]any{
		"+OK\r\n":                               "OK",
		":-7\r\n":                               int64(-7),
		"$3\r\na\r\n\r\n":                       []byte("a\r\n"),
		"$0\r\n\r\n":                            []byte{},
		"$-1\r\n":                               nil,
		"*-1\r\n":                               nil,
		"_\r\n":                                 nil,
		"*0\r\n":                                []any{},
		"-MINE own\r\n":                         refused,
		"!8\r\nMINE own\r\n":                    refused,
		"*2\r\n:1\r\n-MINE own\r\n":             []any{int64(1), refused},
		"%1\r\n+a\r\n:1\r\n":                    []any{"a", int64(1)},
		"~2\r\n:1\r\n:2\r\n":                    []any{int64(1), int64(2)},
		",1.5\r\n":                              []byte("1.5"),
		"(12345678901234567890\r\n":             []byte("12345678901234567890"),
		"#t\r\n":                                int64(1),
		"#f\r\n":                                int64(0),
		"=8\r\ntxt:a b!\r\n":                    []byte("a b!"),
		"|1\r\n+ttl\r\n:1\r\n*1\r\n$1\r\na\r\n": []any{[]byte("a")},
	} {
		got, err := decode([]byte(text))
		require.NoError(t, err, "%q", text)
		assert.Equal(t, want, got, "%q", text)
	}
	for _, text := range []string{"", "\r\n", "+OK", ":x\r\n", "$3\r\nab\r\n", "*2\r\n:1\r\n", "?\r\n", "$x\r\n",
		"*x\r\n", ":1\r\n:2\r\n"} {
		_, err := decode([]byte(text))
		assert.Error(t, err, "%q", text)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("*2\r\n$1\r\na\r\n%1\r\n+a\r\n,1\r\n"))
	f.Add([]byte("*1000000000\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _ = decode(text) // it says what is wrong, and does not panic
	})
}

// Version 3 of the protocol has more types; the library reads what redigo gives, which speaks version 2.
func TestRepliesAreThoseOfRedigo(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		redigo, err := redisconn.Open(s.DSN())
		require.NoError(t, err)
		defer redigo.Close() //lint:ignore errcheck the end of the test
		_, two := given(t, s.Addr(), func(opt *redis.Options) { opt.Protocol = 2 })
		_, three := given(t, s.Addr(), func(opt *redis.Options) { opt.Protocol = 3 })
		key := redistest.Namespace(t)
		of := func(command string, args ...any) redisconn.Call {
			return redisconn.Call{Command: command, Keys: []string{key + args[0].(string)}, Args: args[1:]}
		}
		_, err = redigo.Pipeline(t.Context(), of("ZADD", "z", "1.5", "a", "10000000000000000", "b"),
			of("HSET", "h", "f", "v"), of("SADD", "s", "m"))
		require.NoError(t, err)
		calls := []redisconn.Call{
			of("ZRANGE", "z", 0, -1, "WITHSCORES"), of("ZREVRANGE", "z", 0, -1, "withscores"), of("ZRANGE", "z", 0, -1),
			of("ZRANGEBYSCORE", "z", "-inf", "+inf", "WITHSCORES"), of("ZSCORE", "z", "a"), of("ZSCORE", "z", "none"),
			of("ZMSCORE", "z", "a", "none"), of("ZSCAN", "z", "0"), of("HGETALL", "h"), of("HGETALL", "none"),
			of("HMGET", "h", "f", "none"), of("HSCAN", "h", "0"), of("SMEMBERS", "s"), of("SISMEMBER", "s", "m"),
			of("LPOP", "none"), of("BLPOP", "none", "0.01"), of("TYPE", "z"), of("EXISTS", "z"),
			of("LRANGE", "none", 0, 1), of("ZPOPMIN", "z", 2), of("ZPOPMIN", "z"),
		}
		if s.Embedded() == nil {
			calls = append(calls, redisconn.Call{Command: "CONFIG", Args: []any{"GET", "maxmemory-policy"}},
				redisconn.Call{Command: "INFO", Args: []any{"cluster"}})
		}
		for _, call := range calls {
			var got [3]redisconn.Reply
			for i, d := range []redisconn.Driver{redigo, two, three} {
				if call.Command == "ZPOPMIN" {
					_, err = redigo.Pipeline(t.Context(), of("ZADD", "z", "1.5", "a", "10000000000000000", "b"))
					require.NoError(t, err)
				}
				replies, err := d.Pipeline(t.Context(), call)
				require.NoError(t, err)
				got[i] = replies[0]
			}
			assert.Equal(t, got[0], got[1], "version 2: %s %v", call.Command, call.Args)
			assert.Equal(t, got[0], got[2], "version 3: %s %v", call.Command, call.Args)
		}
	})
}
