package inspect

import (
	"context"
	"encoding/json"

	"github.com/265d0351/work/internal/partition"
)

// PartitionInfo is a partition of the namespace.
type PartitionInfo struct {
	Partition int    `json:"partition"` // its number, from 0
	State     string `json:"state"`     // "open", "draining": nothing new goes there, or "closed": nothing is there
	// the version of the map of the partitions that it knows; 0 where there is none, as in a namespace with one
	Version int64  `json:"version"`
	Leaving int    `json:"leaving,omitzero"` // buckets that are on their way from there to others
	Counts  Counts `json:"counts"`           // of what is there
	Problem error  `json:"-"`                // why it could not be asked; then State is what the others say of it
}

// MarshalJSON writes Problem as a text, "problem", where there is one.
func (p PartitionInfo) MarshalJSON() ([]byte, error) {
	type plain PartitionInfo
	problem := ""
	if p.Problem != nil {
		problem = p.Problem.Error()
	}
	return json.Marshal(struct {
		plain
		Problem string `json:"problem,omitzero"`
	}{plain(p), problem})
}

// Divided tells whether the namespace has, or had, more than one partition. It costs nothing but the reading of the map
// that each call may need, once a second; where that cannot be read it is as far as is known.
func (i *Inspector) Divided(ctx context.Context) bool {
	of := i.everywhere(ctx)
	return len(of.views) > 1
}

// Partitions tells of each partition that there is or was, by their numbers, and costs what [Inspector.Counts] does.
// One that cannot be asked has a Problem, which is no error, unless all of them have: then it is that of the first.
func (i *Inspector) Partitions(ctx context.Context) ([]PartitionInfo, error) {
	of := i.everywhere(ctx)
	if of.err != nil {
		return nil, of.err
	}
	m := i.partitions.Map()
	answers := ask(ctx, of.views, (*view).info)
	infos := make([]PartitionInfo, len(answers))
	missing := 0
	for n, a := range answers {
		info := a.value
		info.Partition, info.State, info.Problem = a.from.partition, string(m.State(a.from.partition)), a.err
		for bucket := range m.Moving {
			if m.At(bucket) == info.Partition {
				info.Leaving++
			}
		}
		if infos[n] = info; a.err != nil {
			missing++
		}
	}
	if missing == len(answers) {
		return infos, answers[0].err
	}
	return infos, nil
}

// info is what a partition says of itself.
func (v *view) info(ctx context.Context) (info PartitionInfo, err error) {
	text, err := v.store.ReadMap(ctx)
	if err != nil {
		return info, err
	}
	if text != nil {
		m, err := partition.Decode(text)
		if err != nil {
			return info, err
		}
		info.Version = m.Version
	}
	info.Counts, err = v.counts(ctx)
	return info, err
}
