package thoonk_test

import (
	"context"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/thoonk"
)

// counters are objects that count, and say so.
func counters(t *testing.T) thoonk.ObjectType {
	t.Helper()
	scripts, err := thoonk.ScriptsIn(fstest.MapFS{
		"counter/add.lua": {Data: []byte(`
			local name, by = unpack(ARGV)
			if tonumber(by) <= 0 then return { 'add more than ' .. by } end
			local n = redis.call('INCRBY', 'counter:' .. name, by)
			redis.call('PUBLISH', 'event.counter.added:' .. name, by)
			return { false, n, by, { 'a list', false, 7 } }`)},
		"counter/name.lua":   {Data: []byte(`return ARGV[1]`)},
		"counter/none.lua":   {Data: []byte(`return {}`)},
		"counter/broken.lua": {Data: []byte(`return redis.call('LPUSH', 'counter:' .. ARGV[1], 1)`)},
		"counter/README":     {Data: []byte(`no script`)},
	}, "counter")
	require.NoError(t, err)
	return thoonk.ObjectType{Name: "counter", Scripts: scripts, Events: []string{"added", "re*set"}}
}

func (k *kit) object(of thoonk.ObjectType, name string) *thoonk.Object {
	k.t.Helper()
	object, err := k.client.Object(of, name)
	require.NoError(k.t, err)
	return object
}

func TestTheMethodsOfAnObjectAreScripts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		object := k.object(counters(t), k.prefix+"clicks")
		values, err := object.Run(k.ctx(), "add", 3)
		require.NoError(t, err)
		assert.Equal(t, []any{int64(3), "3", []any{"a list", nil, int64(7)}}, values)
		values, err = object.Run(k.ctx(), "name")
		require.NoError(t, err)
		assert.Equal(t, []any{k.prefix + "clicks"}, values, "an answer that is no list")
		values, err = object.Run(k.ctx(), "none", "text", []byte("bytes"), true, int64(7))
		require.NoError(t, err)
		assert.Empty(t, values)

		_, err = object.Run(k.ctx(), "add", 0)
		var said *thoonk.ScriptError
		require.ErrorAs(t, err, &said)
		assert.Equal(t, thoonk.ScriptError{
			Type: "counter", Object: k.prefix + "clicks", Method: "add", Message: "add more than 0",
		}, *said)
		_, err = object.Run(k.ctx(), "broken")
		assert.ErrorContains(t, err, "WRONGTYPE")
		_, err = object.Run(k.ctx(), "gone")
		assert.ErrorContains(t, err, `method "gone" is none of the type counter: add its script`)
		_, err = object.Run(k.ctx(), "add", 1.5)
		assert.ErrorContains(t, err, "argument 1 is a float64")
	})
}

func TestAnInterfaceIsAnObjectWithoutAName(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		values, err := k.object(counters(t), "").Run(k.ctx(), "name", "the first argument")
		require.NoError(t, err)
		assert.Equal(t, []any{"the first argument"}, values)
	})
}

// What a program in another language does with an object, command by command, and what it hears.
func TestObjectsAreSharedWithOtherPrograms(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		of := counters(t)
		name := k.prefix + "shared"
		object := k.object(of, name)
		heard := k.hearObject(object)
		channel := "event.counter.added:" + name
		theirs, stands := make(chan string, 10), make(chan struct{})
		ctx, cancel := context.WithCancel(k.ctx())
		defer cancel()
		go func() {
			_ = k.plain.SubscribeAll(ctx, []string{channel}, func() { close(stands) },
				func(_ string, message []byte) { theirs <- string(message) })
		}()
		receive(t, stands)

		sha := k.do("SCRIPT", "LOAD", of.Scripts["add"])
		assert.Equal(t, int64(4), k.do("EVALSHA", string(sha.([]byte)), 0, name, "4").([]any)[1])
		assert.Equal(t, thoonk.ObjectEvent{What: thoonk.Published, Event: "added", Message: "4"}, receive(t, heard))
		values, err := object.Run(k.ctx(), "add", 5)
		require.NoError(t, err)
		assert.Equal(t, int64(9), values[0])
		assert.Equal(t, []string{"4", "5"}, []string{receive(t, theirs), receive(t, theirs)})
		assert.Equal(t, "5", receive(t, heard).Message)

		require.NoError(t, object.Emit(k.ctx(), "added", "6"))
		assert.Equal(t, "6", receive(t, theirs))
		assert.Equal(t, "6", receive(t, heard).Message)
		require.NoError(t, object.Emit(k.ctx(), "reset", "is another event"))
		require.NoError(t, object.Emit(k.ctx(), "re*set", "is one"))
		assert.Equal(t, thoonk.ObjectEvent{What: thoonk.Published, Event: "re*set", Message: "is one"},
			receive(t, heard))
	})
}

// hearObject returns the events of an object, once the subscription stands.
func (k *kit) hearObject(object *thoonk.Object) <-chan thoonk.ObjectEvent {
	k.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	events, err := object.Subscribe(ctx)
	require.NoError(k.t, err)
	heard, ended := make(chan thoonk.ObjectEvent, 100), make(chan struct{})
	go func() {
		defer close(ended)
		for event := range events {
			heard <- event
		}
	}()
	k.t.Cleanup(func() { cancel(); <-ended })
	require.Equal(k.t, thoonk.Connected, receive(k.t, heard).What)
	return heard
}

// do is one plain command.
func (k *kit) do(command string, args ...any) any {
	k.t.Helper()
	value, err := redisconn.Do(k.ctx(), k.plain, redisconn.Call{Command: command, Args: args})
	require.NoError(k.t, err)
	return value
}

func TestAnObjectThatCannotBe(t *testing.T) {
	t.Parallel()
	client, err := thoonk.Open("memory://thoonk-objects")
	require.NoError(t, err)
	for _, name := range []string{"", "a.b", "a:b", "a\x00b"} {
		_, err := client.Object(thoonk.ObjectType{Name: name}, "n")
		var refused *thoonk.NameError
		assert.ErrorAs(t, err, &refused, name)
	}
	object, err := client.Object(thoonk.ObjectType{Name: "silent", Scripts: map[string]string{"m": "return {}"}}, "n")
	require.NoError(t, err)
	_, err = object.Subscribe(t.Context())
	assert.ErrorContains(t, err, "has no events")
	_, err = thoonk.ScriptsIn(fstest.MapFS{"f/x.txt": {}}, "f")
	assert.ErrorContains(t, err, `no scripts in "f"`)
	_, err = thoonk.ScriptsIn(fstest.MapFS{}, "f")
	require.Error(t, err)
	require.NoError(t, client.Close())
	_, err = object.Run(t.Context(), "m")
	require.ErrorIs(t, err, thoonk.ErrClosed)
	require.ErrorIs(t, object.Emit(t.Context(), "e", ""), thoonk.ErrClosed)
	_, err = object.Subscribe(t.Context())
	assert.Error(t, err)
}
