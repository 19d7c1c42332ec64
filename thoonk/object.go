package thoonk

import (
	"context"
	"crypto/sha1" // EVALSHA names scripts by SHA-1; it protects nothing
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/265d0351/work/internal/redisconn"
)

// ObjectType is a type of objects whose methods are Lua scripts in Redis, as thoonk.js has them since its version 1: a
// program of any language calls the same scripts and hears the same events.
//
// A script has no KEYS; ARGV is the name of the object and then the args. It answers {false, values...}, or {message}
// for an error. It makes its keys of the name, so the [Prefix] of the client has no part in them, and a Redis Cluster
// none either. What it publishes on "event.<type>.<event>:<name>" are the events of the object.
type ObjectType struct {
	Name    string            // of the type, such as "helloworld"
	Scripts map[string]string // Lua by the names of methods
	Events  []string          // that its scripts publish, such as "finish"
}

// ScriptsIn reads the scripts of a folder: greet.lua is the method "greet". It does not go into folders below.
func ScriptsIn(files fs.FS, folder string) (map[string]string, error) {
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		return nil, err
	}
	scripts := map[string]string{}
	for _, entry := range entries {
		method, isLua := strings.CutSuffix(entry.Name(), ".lua")
		if !isLua || entry.IsDir() {
			continue
		}
		source, err := fs.ReadFile(files, path.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		scripts[method] = string(source)
	}
	if len(scripts) == 0 {
		return nil, fmt.Errorf("there are no scripts in %q: they end with .lua", folder)
	}
	return scripts, nil
}

// Object is an object of a program's own type, in Redis. Its methods may be called concurrently.
type Object struct {
	client  *Client
	kind    string
	name    string
	scripts map[string]*redisconn.Script
	events  []string
}

// Object returns the object of that name. One without a name is what thoonk.js calls an interface: its scripts get the
// args alone, and its channels have no name. Nothing is sent to Redis.
func (c *Client) Object(of ObjectType, name string) (*Object, error) {
	if of.Name == "" || strings.ContainsAny(of.Name, ".:\x00") {
		return nil, &NameError{What: "type of object", Name: of.Name,
			Reason: "must not be empty nor hold a point, a colon or a NUL, which end it in channels"}
	}
	o := &Object{client: c, kind: of.Name, name: name, events: slices.Clone(of.Events),
		scripts: map[string]*redisconn.Script{}}
	for method, source := range of.Scripts {
		sum := sha1.Sum([]byte(source)) // see above
		o.scripts[method] = &redisconn.Script{
			Name: of.Name + "/" + method, Source: source, SHA: hex.EncodeToString(sum[:]),
		}
	}
	return o, nil
}

// Name is the name of the object.
func (o *Object) Name() string { return o.name }

// ScriptError is what a script answered as its error.
type ScriptError struct{ Type, Object, Method, Message string }

func (e *ScriptError) Error() string {
	return fmt.Sprintf("%s %q: %s: %s", e.Type, e.Object, e.Method, e.Message)
}

// Run calls a method with args that are texts, bytes, bools or whole numbers, and returns the values that it answered:
// strings, int64s, nil, or lists of these. It fails with a [*ScriptError] where the script says so. It is sent once:
// after an error of the connection it may have run.
func (o *Object) Run(ctx context.Context, method string, args ...any) ([]any, error) {
	script, ok := o.scripts[method]
	if !ok {
		return nil, &NameError{What: "method", Name: method,
			Reason: "is none of the type " + o.kind + ": add its script"}
	}
	sent, err := o.args(args)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %s: %w", o.kind, o.name, method, err)
	}
	answer, err := o.do(ctx, redisconn.Call{Script: script, Args: sent})
	if err != nil {
		return nil, fmt.Errorf("%s %q: %s: %w", o.kind, o.name, method, err)
	}
	return o.values(method, answer)
}

// args are the name and what a method was given.
func (o *Object) args(given []any) ([]any, error) {
	var args []any
	if o.name != "" {
		args = append(args, o.name)
	}
	for i, arg := range given {
		switch arg.(type) {
		case string, []byte, int, int64, bool:
			args = append(args, arg)
		default:
			return nil, fmt.Errorf("argument %d is a %T, which Redis has no form for: make it a string", i+1, arg)
		}
	}
	return args, nil
}

func (o *Object) do(ctx context.Context, call redisconn.Call) (any, error) {
	if o.client.life.Err() != nil {
		return nil, ErrClosed
	}
	ctx, end := o.client.within(ctx)
	defer end()
	answer, err := redisconn.Do(ctx, o.client.store.Driver(), call)
	if err != nil && o.client.life.Err() != nil {
		err = ErrClosed
	}
	return answer, err
}

// values are those of an answer, whose first one is an error or none. An answer that is no list is a value.
func (o *Object) values(method string, answer any) ([]any, error) {
	list, ok := answer.([]any)
	if !ok {
		return []any{plain(answer)}, nil
	}
	if len(list) == 0 {
		return nil, nil
	}
	if list[0] != nil {
		return nil, &ScriptError{o.kind, o.name, method, fmt.Sprint(plain(list[0]))}
	}
	values := plain(list[1:]).([]any)
	return values, nil
}

// plain makes texts of bytes.
func plain(value any) any {
	switch value := value.(type) {
	case []byte:
		return string(value)
	case []any:
		values := make([]any, len(value))
		for i, v := range value {
			values[i] = plain(v)
		}
		return values
	}
	return value
}

// ObjectEvent is an event of an object, or of the subscription: then What is Connected or Disconnected, as of [Event].
type ObjectEvent struct {
	What    What   // Published: the object said something
	Event   string // such as "finish"
	Message string // as its script published it
	Err     error  // of Disconnected
}

var errNoEvents = errors.New("the type has no events: name them in ObjectType.Events")

// Subscribe returns the events of the object, as [Client.Subscribe] does those of feeds.
func (o *Object) Subscribe(ctx context.Context) (iter.Seq[ObjectEvent], error) {
	if len(o.events) == 0 {
		return nil, fmt.Errorf("%s %q: %w", o.kind, o.name, errNoEvents)
	}
	if o.client.life.Err() != nil {
		return nil, ErrClosed
	}
	said, patterns := map[string]string{}, make([]string, len(o.events))
	for i, event := range o.events {
		said[o.channel(event)] = event
		patterns[i] = escaped(o.channel(event))
	}
	return func(yield func(ObjectEvent) bool) {
		o.client.listen(ctx, patterns, func(m message) bool {
			return yield(ObjectEvent{What: m.what, Event: said[m.channel], Message: string(m.text), Err: m.err})
		})
	}, nil
}

// Emit publishes an event of the object, as its scripts do.
func (o *Object) Emit(ctx context.Context, event, message string) error {
	_, err := o.do(ctx, redisconn.Call{Command: "PUBLISH", Args: []any{o.channel(event), message}})
	return err
}

func (o *Object) channel(event string) string {
	channel := "event." + o.kind + "." + event
	if o.name != "" {
		channel += ":" + o.name
	}
	return channel
}
