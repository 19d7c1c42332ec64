package rights_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/rights"
)

// users is a Redis of its own, where users are made.
type users struct {
	t     testing.TB
	addr  string
	admin redis.Conn
}

func newUsers(t testing.TB) *users {
	server := redistest.Dedicated(t)
	admin, err := redis.Dial("tcp", server.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = admin.Close() })
	return &users{t: t, addr: server.Addr(), admin: admin}
}

// set changes a user by rules as a shell reads them.
func (u *users) set(name, rules string) {
	u.t.Helper()
	args := []any{"SETUSER", name}
	for _, rule := range strings.Fields(strings.ReplaceAll(rules, "'", "")) {
		args = append(args, rule)
	}
	_, err := u.admin.Do("ACL", args...)
	require.NoError(u.t, err)
}

func (u *users) open(name string) redisconn.Driver {
	u.t.Helper()
	driver, err := redisconn.Open("redis://" + name + ":secret@" + u.addr + "/0")
	require.NoError(u.t, err)
	u.t.Cleanup(func() { _ = driver.Close() })
	return driver
}

// TestEachCommandThatIsMissingIsNamed: one command is taken from the user of each role, and then given by the rule of
// the error.
func TestEachCommandThatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	u := newUsers(t)
	for _, role := range rights.Roles() {
		name := role.String()
		u.set(name, "on >secret "+role.ACL("shop"))
		driver := u.open(name)
		answer, err := role.Ask(t.Context(), driver, "shop")
		require.NoError(t, err)
		require.Empty(t, answer.Lacks)
		for _, command := range role.Commands() {
			if command == "SELECT" || command == "EVALSHA" {
				continue // no connection comes about, or no question
			}
			u.set(name, "-"+strings.ToLower(command))
			answer, err := role.Ask(t.Context(), driver, "shop")
			if command == "INFO" || command == "WAIT" {
				require.NoError(t, err, command)
				assert.Equal(t, []string{command}, answer.Lacks)
				u.set(name, "+"+strings.ToLower(command))
				continue
			}
			var refused *rights.RefusedError
			if !assert.ErrorAs(t, err, &refused, "%s without %s", role, command) {
				continue
			}
			assert.Equal(t, []string{command}, refused.Commands, role)
			assert.False(t, refused.Keys || refused.Channels, command)
			assert.True(t, redisconn.ConcernsServer(err), "no job is blamed")
			u.set(name, refused.Grant())
			_, err = role.Ask(t.Context(), driver, "shop")
			require.NoError(t, err, "the rule of the error is enough for %s", command)
		}
	}
}

// TestKeysAndChannelsThatAreMissingAreNamed: Redis 7 gives a new user no channels.
func TestKeysAndChannelsThatAreMissingAreNamed(t *testing.T) {
	t.Parallel()
	u := newUsers(t)
	for name, row := range map[string]struct{ rules, grant string }{
		"no channels":    {"~{shop}:* +@all", "'&{shop}:*'"},
		"other channels": {"~{shop}:* &{shop}:control &{shop}:done +@all", "'&{shop}:*'"},
		"no keys":        {"&* +@all", "'~{shop}:*'"},
		"other keys":     {"~{other}:* &* +@all", "'~{shop}:*'"},
		"some keys":      {"~{shop}:queue:* ~{shop}:jobs &* +@all", "'~{shop}:*'"},
		"no scripts":     {"~* &* +@all -eval -evalsha", "+eval +evalsha"},
		"no shards":      {"~* &* +@all -spublish", "+spublish"},
		"several":        {"~* +@all -hdel -pexpire", "'&{shop}:*' +hdel +pexpire"},
	} {
		t.Run(name, func(t *testing.T) {
			user := strings.ReplaceAll(name, " ", "-")
			u.set(user, "on >secret "+row.rules)
			driver := u.open(user)
			_, err := rights.Worker.Ask(t.Context(), driver, "shop")
			var refused *rights.RefusedError
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, row.grant, refused.Grant())
			assert.ErrorContains(t, err, "ACL SETUSER USER "+row.grant)
			u.set(user, row.grant)
			_, err = rights.Worker.Ask(t.Context(), driver, "shop")
			require.NoError(t, err)
		})
	}
	u.set("without-shards", "on >secret ~* &* +@all -spublish -ssubscribe")
	_, err := rights.Worker.Ask(t.Context(), u.open("without-shards"), "shop")
	require.NoError(t, err, "a namespace whose users have neither works by the other two")
}

// TestAskingChangesNothing on both kinds of Redis, also where it cannot be asked and calls are made instead.
func TestAskingChangesNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		driver, err := redisconn.Open(s.DSN())
		require.NoError(t, err)
		defer func() { _ = driver.Close() }()
		namespace := redistest.Namespace(t)
		for _, role := range rights.Roles() {
			_, err := role.Ask(t.Context(), driver, namespace)
			require.NoError(t, err)
		}
		for _, kind := range []string{"object:none", "jobs", "queue:work", "ready", "scheduled"} {
			exists, err := redisconn.Do(t.Context(), driver, redisconn.Call{Command: "EXISTS",
				Args: []any{"{" + namespace + "}:" + kind}})
			require.NoError(t, err)
			assert.Zero(t, exists, kind)
		}
	})
}

// TestQuestionsHaveAsManyWordsAsTheirCommands: some servers read beyond the end of a shorter call.
func TestQuestionsHaveAsManyWordsAsTheirCommands(t *testing.T) {
	t.Parallel()
	u := newUsers(t)
	asked := map[string]bool{}
	for _, role := range rights.Roles() {
		args := role.Question("shop").Args
		shapes := args[0].(string)
		require.Len(t, shapes, 2*len(args)-2)
		for i, arg := range args[1:] {
			asked[arg.(string)] = true
			words := 1 + int(shapes[2*i+1]-'0')
			info, err := redis.Values(u.admin.Do("COMMAND", "INFO", arg))
			require.NoError(t, err)
			fields, err := redis.Values(info[0], nil)
			require.NoError(t, err, arg)
			arity := int(fields[1].(int64))
			assert.True(t, arity == words || arity < 0 && words >= -arity, "%s takes %d, and has %d", arg, arity, words)
		}
		for _, command := range role.Commands() {
			assert.True(t, asked[command], "nobody asks for %s: add a call of it to probes", command)
		}
	}
}

// TestServersThatRunNoScriptsAreExplained: with the setting that is to be changed.
func TestServersThatRunNoScriptsAreExplained(t *testing.T) {
	t.Parallel()
	const check, sets = "ERR bad lua script for redis cluster, ", "script_check_enable to 0"
	for said, want := range map[string]string{
		check + "all the keys that the script uses should be passed using the KEYS array":   sets,
		check + "first parameter of redis.call/redis.pcall must be a single literal string": sets,
		"ERR Error running script (call to f_1): @user_script:2: script tried accessing undeclared key, " +
			"key: k": "allow-undeclared-keys",
		"ERR command eval not support for normal user":       "EVAL and EVALSHA",
		"ERR eval/evalsha command keys must be in same slot": "hash_tag",
		"ERR Cross-slot queries are disabled. They can be enabled by using the --enable-cross-slot " +
			"option": "redis+cluster://",
		"ERR unknown command 'EVALSHA', with args beginning with: 'abc' '3'": "rename-command",
		"ERR unknown command `evalsha`, with args beginning with: `abc`":     "rename-command",
	} {
		_, err := rights.Enqueuer.Answered("shop", redisconn.Reply{Err: redisconn.ParseServerError(said)})
		var unusable *rights.UnusableError
		if assert.ErrorAs(t, err, &unusable, said) {
			assert.Contains(t, unusable.Remedy, want)
			assert.ErrorContains(t, err, said[:20], "what it said is there")
		}
	}
	_, err := rights.Enqueuer.Answered("shop", redisconn.Reply{Err: redisconn.ParseServerError("BADKEY a key")})
	require.NoError(t, err, "it says nothing of other calls")
	_, err = rights.Enqueuer.Answered("shop", redisconn.Reply{Err: redisconn.ParseServerError("LOADING x")})
	assert.True(t, redisconn.Passes(err))
}

// BenchmarkAsking is what a question costs, with the way to Redis and back.
func BenchmarkAsking(b *testing.B) {
	u := newUsers(b)
	u.set("bench", "on >secret ~* &* +@all")
	driver := u.open("bench")
	for _, role := range []rights.Role{rights.Enqueuer, rights.Worker} {
		b.Run(role.String(), func(b *testing.B) {
			for b.Loop() {
				if _, err := role.Ask(b.Context(), driver, "shop"); err != nil {
					b.Fatal(err)
				}
			}
			stats, err := redis.String(u.admin.Do("INFO", "commandstats"))
			require.NoError(b, err)
			_, spent, _ := strings.Cut(stats, "cmdstat_evalsha:")
			spent, _, _ = strings.Cut(spent, "\n")
			b.Log(spent)
		})
	}
}

// TestTheNameOfAUserIsNoReason: what Redis 7.2 and Valkey say names the user, who may be called like what is refused.
func TestTheNameOfAUserIsNoReason(t *testing.T) {
	t.Parallel()
	const may = "ERR ACL failure in script: User %s has no permissions to run the 'info' command"
	number := int64(slices.Index(rights.Enqueuer.Question("shop").Args[1:], any("INFO")) + 1)
	for _, user := range []string{"shop", "keyapp", "channel-app"} {
		answer, err := rights.Enqueuer.Answered("shop",
			redisconn.Reply{Value: []any{number, fmt.Appendf(nil, may, user)}})
		require.NoError(t, err, user)
		assert.Equal(t, []string{"INFO"}, answer.Lacks, user)
	}
	for said, want := range map[string]string{
		"ERR ACL failure in script: No permissions to access a key":     "the keys {shop}:*",
		"ERR ACL failure in script: No permissions to access a channel": "the channels {shop}:*",
	} {
		assert.True(t, rights.Denied(redisconn.ParseServerError(said)), said)
		_, err := rights.Enqueuer.Answered("shop", redisconn.Reply{Value: []any{number, []byte(said)}})
		var refused *rights.RefusedError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, want, refused.What())
	}
}
