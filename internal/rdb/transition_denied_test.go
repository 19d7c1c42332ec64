package rdb_test

import (
	"context"
	"crypto/sha1"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// Redis does not roll back: a script that is refused a command in its middle keeps what it has written. So each
// transition is sent by a user who may not use one of its commands, the command is allowed, and it is sent again. What
// is stored then is what two sends without a refusal leave: nothing is lost, doubled or left over.
func TestARefusedCommandLosesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Dedicated(t)
	d := newDenial(t, server)
	for i, tr := range redistest.Some(transitions()) {
		t.Run(tr.name, func(t *testing.T) { // one after the other: the rights are those of one user
			first := d.clean(t, tr, fmt.Sprintf("first-%d", i))
			second := d.clean(t, tr, fmt.Sprintf("second-%d", i))
			for n, command := range first.commands {
				t.Run(command, func(t *testing.T) { d.deny(t, tr, command, fmt.Sprintf("%d-%d", i, n), first, second) })
			}
		})
	}
}

// A server without redis.acl_check_cmd answers no script that asks. There too a script takes no refusal for an empty
// answer, by which it would forget what is there.
func TestARefusalIsNoEmptyAnswer(t *testing.T) {
	t.Parallel()
	d := newDenial(t, redistest.Dedicated(t))
	d.limited.driver = unasked{d.limited.driver}
	commands := map[string]string{
		"forget, which holds jobs": "llen", "survey": "lrange", "serve, one less": "llen",
	}
	met := 0
	for i, tr := range transitions() {
		command, is := commands[tr.name]
		if !is {
			continue
		}
		met++
		t.Run(tr.name, func(t *testing.T) {
			first := d.clean(t, tr, fmt.Sprintf("first-%d", i))
			d.deny(t, tr, command, strconv.Itoa(i), first, d.clean(t, tr, fmt.Sprintf("second-%d", i)))
		})
	}
	assert.Len(t, commands, met)
}

// unasked sends scripts to a server that seems to have no redis.acl_check_cmd.
type unasked struct{ redisconn.Driver }

func (u unasked) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	sent := slices.Clone(calls)
	for i, call := range sent {
		if call.Script != nil {
			source := strings.ReplaceAll(call.Script.Source, "redis.acl_check_cmd", "nil")
			sent[i].Script = &redisconn.Script{Name: call.Script.Name, Source: source,
				SHA: fmt.Sprintf("%x", sha1.Sum([]byte(source)))}
		}
	}
	return u.Driver.Pipeline(ctx, sent...)
}

// denial is a Redis with a user whose rights change.
type denial struct {
	whole, limited *site
}

func newDenial(t *testing.T, server *redistest.Process) denial {
	whole := newSite(t, server.DSN(), nil)
	d := denial{whole: whole}
	d.rights(t, "+@all")
	d.limited = newSite(t, strings.Replace(server.DSN(), "redis://", "redis://limited:pw@", 1), nil)
	return d
}

// rights adds rules to those of the user.
func (d denial) rights(t *testing.T, rules ...any) {
	t.Helper()
	args := append([]any{"SETUSER", "limited", "on", ">pw", "~*", "&*"}, rules...)
	d.run(t, redisconn.Call{Command: "ACL", Args: args})
}

func (d denial) run(t *testing.T, call redisconn.Call) any {
	t.Helper()
	replies, err := d.whole.driver.Pipeline(context.Background(), call)
	require.NoError(t, err)
	require.NoError(t, replies[0].Err)
	return replies[0].Value
}

// cleanRun is a transition that was sent without a refusal, and sent again unless it never is.
type cleanRun struct {
	commands []string // those that it uses, without the ones that send a script
	answers  []any
	state    map[string]string
}

func (d denial) clean(t *testing.T, tr transition, namespace string) cleanRun {
	t.Helper()
	on := d.whole.fresh(namespace)
	tr.prepare(t, on)
	d.run(t, redisconn.Call{Command: "CONFIG", Args: []any{"RESETSTAT"}})
	answer, err := tr.send(on, on.store)
	require.NoError(t, err)
	run := cleanRun{answers: []any{answer}, commands: d.used(t)}
	if !tr.once {
		again, err := tr.send(on, on.store)
		require.NoError(t, err)
		run.answers = append(run.answers, again)
	}
	run.state = whatIsThere(t, on)
	return run
}

// used are the commands since the statistics were reset.
func (d denial) used(t *testing.T) []string {
	t.Helper()
	var commands []string
	for line := range strings.Lines(text(d.run(t, redisconn.Call{Command: "INFO", Args: []any{"commandstats"}}))) {
		name, _, is := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":")
		if is && !slices.Contains([]string{"eval", "evalsha", "script|load", "config|resetstat"}, name) {
			commands = append(commands, name)
		}
	}
	slices.Sort(commands)
	return commands
}

func (d denial) deny(t *testing.T, tr transition, command, namespace string, first, second cleanRun) {
	on := d.whole.fresh(namespace)
	tr.prepare(t, on)
	store := rdb.NewStore(d.limited.driver, namespace)
	d.rights(t, "-"+command)
	said, refused := tr.send(on, store)
	d.rights(t, "+"+command)
	if inside := fmt.Sprintf("%+v", said); refused == nil && !tr.untold() && !strings.Contains(inside, "NOPERM") {
		assert.Equal(t, first.answers[0], said, "a call that is not refused answers as it would otherwise")
	}
	if refused != nil {
		assert.NotContains(t, refused.Error(), "BADKEY", "no key is wrong")
		assert.NotContains(t, refused.Error(), "WRONGTYPE")
	}
	if refused != nil || !tr.once {
		answer, err := tr.send(on, store)
		require.NoError(t, err, "after %v", refused)
		if !tr.untold() {
			assert.Contains(t, append(slices.Clone(first.answers), second.answers...), answer, "after %v", refused)
		}
	}
	assertSame(t, first, second, whatIsThere(t, on), refused)
}

// untold reports whether the answer is not the same each time: it is the time.
func (tr transition) untold() bool { return tr.timed || strings.HasPrefix(tr.script, "job/enqueue") }

// assertSame compares a state with that of the runs that nothing disturbed.
func assertSame(t *testing.T, first, second cleanRun, state map[string]string, refused error) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(union(state, first.state))) {
		if first.state[key] != second.state[key] { // random
			continue
		}
		if refused == nil && strings.HasPrefix(key, "wake:") { // a hint: what may not leave one does without
			continue
		}
		assert.Equal(t, first.state[key], state[key], "%s after %v", key, refused)
	}
}

func union(a, b map[string]string) map[string]string {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return both
}

// times are those in ms, and in µs, of the years 2001 to 2286, and those in s of 2020 to 2065, which no pass is.
var times = regexp.MustCompile(`\b([1-9]\d{12}(\d{3})?|(1[6-9]|2\d)\d{8})(\.\d+)?\b`)

// ran is for how long a job ran that a worker died with, in the words about that: on a real Redis some take a ms.
var ran = regexp.MustCompile(`:\d+\.\d+:`)

// period is the minute, the hour or the day in the name of a key: two runs may be in two of them.
var (
	period = regexp.MustCompile(`\d{4}-\d\d-\d\d(T\d\d(:\d\d)?)?$`)
	digit  = regexp.MustCompile(`\d`)
)

func zeros(period string) string { return digit.ReplaceAllString(period, "0") }

// whatIsThere is what each key has, as one text, without times, and whether it will lapse.
func whatIsThere(t *testing.T, on *site) map[string]string {
	t.Helper()
	texts := timeless(on.dump(t))
	texts["crashes"] = ran.ReplaceAllString(texts["crashes"], ":ran:")
	there := map[string]string{}
	for key, text := range texts {
		if left, is := on.cmd(t, "PTTL", key).(int64); is && left > 0 {
			text += "\nwill lapse"
		}
		there[period.ReplaceAllStringFunc(key, zeros)] += text
	}
	return there
}

// timeless is what each key has, as one text, without times.
func timeless(state redisState) map[string]string {
	texts := map[string]string{}
	for key, list := range state.lists {
		texts[key] = times.ReplaceAllString(strings.Join(list, "\n"), "T")
	}
	for key, content := range state.maps {
		var lines []string
		for field, value := range content {
			lines = append(lines, times.ReplaceAllString(field+" = "+value, "T"))
		}
		slices.Sort(lines)
		texts[key] = strings.Join(lines, "\n")
	}
	return texts
}

// Where a move of jobs stops in its middle, which only a server does that cannot be asked about rights, what is stored
// says so: a batch that is frozen has its number before anything is taken, and one that is received is known when all
// of it is there.
func TestAMoveThatStopsInItsMiddleGoesOn(t *testing.T) {
	t.Parallel()
	d := newDenial(t, redistest.Dedicated(t))
	on := d.whole.fresh("moving")
	store := rdb.NewStore(unasked{d.limited.driver}, on.namespace)
	lined(t, on)
	on.enqueue(t, "a", "a1")
	on.cmd(t, "HSET", "frozen", "", "5 last 0") // a batch before, which was handed over
	_, err := on.store.TakeLead(background, leading)
	require.NoError(t, err)
	items := []rdb.MoveItem{{Kind: rdb.MoveBound, ID: "a1", Queue: "a"}}

	d.rights(t, "-ltrim")
	_, err = store.Freeze(background, leading, rdb.Target{Partition: 1}, items)
	require.Error(t, err)
	d.rights(t, "+ltrim")
	batch, err := store.Freeze(background, leading, rdb.Target{Partition: 1}, items)
	require.NoError(t, err)
	assert.NotEqual(t, "last", batch.Name)
	require.Len(t, batch.Moved, 1)
	_, err = store.HandOver(background, leading, batch.Number, rdb.HandedOver{Moved: batch.Moved})
	require.NoError(t, err)
	assert.Equal(t, []string{""}, slices.Collect(maps.Keys(on.hash(t, "frozen"))), "it was handed over")

	to := d.whole.fresh("target")
	store = rdb.NewStore(unasked{d.limited.driver}, to.namespace)
	reception := rdb.Reception{Source: 0, Batch: batch.Batch}
	d.rights(t, "-lpush")
	_, err = store.Receive(background, reception, batch.Moved)
	require.Error(t, err)
	d.rights(t, "+lpush")
	_, err = store.Receive(background, reception, batch.Moved)
	require.NoError(t, err)
	assert.Equal(t, []string{"a1"}, to.list(t, "queue:a"))
}
