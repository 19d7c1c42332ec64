package rdb

import (
	"context"
	"slices"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	objectTouchScript   = redisconn.Load("object/touch")
	objectReserveScript = redisconn.Load("object/reserve")
	objectReferScript   = redisconn.Load("object/refer")
	objectUnreferScript = redisconn.Load("object/unrefer")
)

// Objects are the contents of a namespace that jobs share, each under the SHA-256 of its bytes. When one was used last
// and which jobs refer to it is always in Redis; contents are here or, where Elsewhere is set, in a home of the
// caller's. Its methods may be called concurrently, and each may be sent again when its reply was lost.
type Objects struct {
	Store     *Store
	Elsewhere bool
}

// ObjectState is what a script says of an object.
type ObjectState string

// The states of an object.
const (
	ObjectPresent  ObjectState = "present"  // it is there, and will be for the grace period
	ObjectAbsent   ObjectState = "absent"   // it must be uploaded
	ObjectKept     ObjectState = "kept"     // the upload is now the object
	ObjectLost     ObjectState = "lost"     // the upload has expired, in part or as a whole: begin anew
	ObjectReserved ObjectState = "reserved" // it was not known, and may be written to its home now
	ObjectLeaving  ObjectState = "leaving"  // it is being removed from its home: ask again
)

type objectKeys struct{ content, jobs, leaving string }

func (k *keys) object(sha string) objectKeys {
	p := k.prefix + "object:" + sha
	return objectKeys{content: p, jobs: p + ":jobs", leaving: p + ":leaving"}
}

func (k *keys) upload(sha, token string) string { return k.object(sha).content + ":upload:" + token }

// HomeID returns what tells this namespace from one of the same name in another Redis: fresh, if it has no id yet. It
// stays for as long as Redis keeps its data.
func (o Objects) HomeID(ctx context.Context, fresh string) (string, error) {
	key := o.Store.keys.home
	replies, err := o.Store.driver.Pipeline(ctx,
		redisconn.Call{Command: "SET", Args: []any{key, fresh, "NX"}}, redisconn.Call{Command: "GET", Args: []any{key}})
	if err != nil {
		return "", err
	}
	set, got := replies[0], replies[1]
	id, _ := got.Value.([]byte)
	switch {
	case got.Err != nil:
		return "", got.Err
	case len(id) > 0: // a Redis that is full refuses to set what is there
		return string(id), nil
	case set.Err != nil:
		return "", set.Err
	}
	return "", &redisconn.UnexpectedReplyError{Script: "GET " + key, Reply: got.Value}
}

// Touch notes that the object is used now. It is [ObjectPresent] or [ObjectAbsent]; one that does not have as many
// bytes is damaged and counts as absent.
func (o Objects) Touch(ctx context.Context, sha string, size int) (ObjectState, error) {
	k := o.Store.keys
	return o.state(ctx, redisconn.Call{
		Script: objectTouchScript, Keys: []string{k.objects, k.object(sha).content}, Args: []any{sha, size},
	})
}

// Reserve notes that the object is used now, where contents live elsewhere. It is [ObjectPresent], [ObjectReserved] or
// [ObjectLeaving].
func (o Objects) Reserve(ctx context.Context, sha string) (ObjectState, error) {
	k := o.Store.keys
	return o.state(ctx, redisconn.Call{
		Script: objectReserveScript, Keys: []string{k.objects, k.object(sha).leaving}, Args: []any{sha},
	})
}

func (o Objects) state(ctx context.Context, call redisconn.Call) (ObjectState, error) {
	value, err := redisconn.Do(ctx, o.Store.driver, call)
	if err != nil {
		return "", err
	}
	word, ok := value.([]byte)
	if !ok {
		return "", &redisconn.UnexpectedReplyError{Script: call.Script.Name, Reply: value}
	}
	return ObjectState(word), nil
}

// Refer adds ids of jobs, at most [MaxBatch], to those that refer to the object, and notes that it is used now. Where
// it has vanished, found is false and nothing is added.
func (o Objects) Refer(ctx context.Context, sha string, ids []string) (added int, found bool, err error) {
	k := o.Store.keys
	of := k.object(sha)
	n, err := o.count(ctx, redisconn.Call{
		Script: objectReferScript, Keys: []string{k.objects, of.content, of.jobs},
		Args: withIDs([]any{sha, !o.Elsewhere}, ids),
	})
	if err != nil || n < 0 {
		return 0, false, err
	}
	return n, true, nil
}

// Unrefer removes ids of jobs, at most [MaxBatch], from those that refer to the object, and returns how many were
// there.
func (o Objects) Unrefer(ctx context.Context, sha string, ids []string) (removed int, err error) {
	return o.count(ctx, redisconn.Call{
		Script: objectUnreferScript, Keys: []string{o.Store.keys.object(sha).jobs}, Args: withIDs(nil, ids),
	})
}

// Referring reads the ids of the jobs that refer to the object, in parts; one may come twice.
func (o Objects) Referring(ctx context.Context, sha string) ([]string, error) {
	return o.Store.Members(ctx, "object:"+sha+":jobs")
}

func (o Objects) count(ctx context.Context, call redisconn.Call) (int, error) {
	value, err := redisconn.Do(ctx, o.Store.driver, call)
	if err != nil {
		return 0, err
	}
	n, ok := value.(int64)
	if !ok {
		return 0, &redisconn.UnexpectedReplyError{Script: call.Script.Name, Reply: value}
	}
	return int(n), nil
}

func withIDs(args []any, ids []string) []any {
	for _, id := range ids {
		args = append(args, id)
	}
	return args
}

// Unknown returns those of the objects of which there is no note of when they were used last.
func (o Objects) Unknown(ctx context.Context, shas []string) (unknown []string, err error) {
	for part := range slices.Chunk(shas, MaxBatch) {
		value, err := redisconn.Do(ctx, o.Store.driver,
			redisconn.Call{Command: "ZMSCORE", Args: appendTexts([]any{o.Store.keys.objects}, part)})
		if err != nil {
			return nil, err
		}
		r := redisconn.Read("ZMSCORE", value)
		for _, sha := range part {
			if r.Next() == nil {
				unknown = append(unknown, sha)
			}
		}
		if r.Err() != nil {
			return nil, r.Err()
		}
	}
	return unknown, nil
}
