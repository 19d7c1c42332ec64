package thoonkdb

import (
	"context"

	"github.com/265d0351/work/internal/redisconn"
)

// Layout is what the keys of a feed show of its form, as of one round trip.
type Layout struct {
	Config   string // as [Feed.Config] returns it
	Hash     bool   // the config is a hash
	Released bool   // it has the form of the released programs, sets and sorted sets
	Items    string // type of the key of the ids: "list", "zset" or "none"
	Sorted   bool   // a sorted feed has been here
	Job      bool   // jobs have been here
}

// Config returns the stored config, empty if none was set, or [ErrNoFeed]. One that is a hash is [Framed].
func (f *Feed) Config(ctx context.Context) (string, error) {
	typ, value, err := f.lookAt(ctx, f.config, as{"string", "GET", nil}, as{"hash", "HGETALL", nil})
	if err != nil {
		return "", err
	}
	return config(typ, value)
}

func config(typ string, value any) (string, error) {
	if typ != "hash" {
		return text(value), nil
	}
	r := redisconn.Read("HGETALL", value)
	fields := map[string]string{}
	for r.More() {
		name := r.Text()
		fields[name] = r.Text()
	}
	return Framed(fields), r.Err()
}

// Layout returns what the keys show, or [ErrNoFeed].
func (f *Feed) Layout(ctx context.Context) (Layout, error) {
	replies, err := f.replies(ctx, of("TYPE", f.config), of("GET", f.config), of("HGETALL", f.config),
		of("TYPE", f.ids), of("TYPE", f.claimed), of("TYPE", f.stalled),
		of("EXISTS", f.publishes), of("EXISTS", f.counter), of("EXISTS", f.running), of("EXISTS", f.putTimes))
	if err != nil {
		return Layout{}, err
	}
	typ, value, err := chosen(f.config, replies[0], replies[1:3], []as{{typ: "string"}, {typ: "hash"}})
	if err != nil {
		return Layout{}, err
	}
	v, err := redisconn.Values(replies[3:])
	if err != nil {
		return Layout{}, err
	}
	ids, claimed, stalled, none := text(v[0]), text(v[1]), text(v[2]), int64(0)
	l := Layout{
		Hash: typ == "hash", Items: ids, Sorted: v[4] != none,
		Job: v[5] != none || v[6] != none || claimed != "none" || stalled != "none",
	}
	l.Released = l.Hash || v[3] != none || ids == "zset" || claimed == "zset" || stalled == "set"
	l.Config, err = config(typ, value)
	return l, err
}
