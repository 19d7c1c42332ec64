package inspect

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// ServerInfo is what Redis says of itself. What it does not say is the zero value: managed ones hide much, and the
// embedded one tells almost nothing.
type ServerInfo struct {
	Version    string        `json:"version,omitzero"`
	Role       string        `json:"role,omitzero"` // "master" or "slave"
	Uptime     time.Duration `json:"uptime,omitzero"`
	Now        time.Time     `json:"now"`        // its clock
	RoundTrip  time.Duration `json:"round_trip"` // of a small request, from here
	Clients    int           `json:"clients,omitzero"`
	Operations int           `json:"operations,omitzero"` // requests in the last second

	MemoryUsed int64 `json:"memory_used,omitzero"` // bytes
	MemoryMax  int64 `json:"memory_max,omitzero"`  // bytes; 0 is no limit, or not known
	// anything but "noeviction" loses jobs when the memory is full
	EvictionPolicy string `json:"eviction_policy,omitzero"`
	// keys that it has dropped since it started, whosever they were
	Evicted int64 `json:"evicted,omitzero"`

	AppendOnly bool      `json:"append_only,omitzero"` // it writes an append-only file
	LastSave   time.Time `json:"last_save,omitzero"`   // its last snapshot
	Unsaved    int64     `json:"unsaved,omitzero"`     // changes since
	// its last snapshot, or the last write of its append-only file, has failed
	SaveFailed bool `json:"save_failed,omitzero"`

	CPU time.Duration `json:"cpu,omitzero"` // see ServerCPU

	// of Servers only: the partitions of the namespace that it has
	Partitions []int `json:"partitions,omitempty"`

	run string // what names this run of it
}

// Server asks Redis what it is and how it does, that of the first partition that answers: see [Inspector.Servers]. It
// takes three small requests.
func (i *Inspector) Server(ctx context.Context) (ServerInfo, error) {
	of := i.everywhere(ctx)
	if of.err != nil {
		return ServerInfo{}, of.err
	}
	if of.single() {
		return of.views[0].server(ctx, (*rdb.Store).Server)
	}
	var failed error
	for _, v := range of.views {
		info, err := v.server(ctx, (*rdb.Store).ServerOf)
		if err == nil {
			return info, nil
		}
		failed = cmp.Or(failed, err)
	}
	return ServerInfo{}, failed
}

// Servers is [Inspector.Server] of each server that has a partition, by the lowest of their numbers, with Partitions.
// Those that do not say who they are, as the embedded one, count as one for each partition.
func (i *Inspector) Servers(ctx context.Context) ([]ServerInfo, error) {
	return readAll(ctx, i.served(ctx), func(v *view, ctx context.Context) ([]ServerInfo, error) {
		info, err := v.server(ctx, (*rdb.Store).ServerOf)
		if err != nil {
			return nil, err
		}
		info.Partitions = []int{v.partition}
		return []ServerInfo{info}, nil
	}, func(all *[]ServerInfo, ones []ServerInfo) {
		one := ones[0]
		for n := range *all {
			if same := &(*all)[n]; same.run == one.run && one.run != "" {
				same.Partitions = append(same.Partitions, one.Partitions...)
				return
			}
		}
		*all = append(*all, one)
	})
}

// server asks the server of a partition by one of these questions.
func (v *view) server(ctx context.Context, question func(*rdb.Store, context.Context) (rdb.ServerFacts, error)) (
	ServerInfo, error) {
	facts, err := question(v.store, ctx)
	if err != nil {
		return ServerInfo{}, fmt.Errorf("redis does not say what it is: %w", err)
	}
	asked := time.Now()
	now, err := v.store.Time(ctx)
	took := time.Since(asked)
	if err != nil {
		return ServerInfo{}, fmt.Errorf("the clock of Redis cannot be read: %w", err)
	}
	info := serverInfo(facts)
	if info.CPU == 0 {
		if info.CPU, err = v.store.CPU(ctx); err != nil {
			return ServerInfo{}, fmt.Errorf("redis does not say what it is: %w", err)
		}
	}
	info.Now, info.RoundTrip = now, took
	return info, nil
}

func serverInfo(facts rdb.ServerFacts) ServerInfo {
	info := ServerInfo{
		Version: facts.Version, Role: facts.Role, Uptime: time.Duration(facts.Uptime) * time.Second,
		Clients: facts.Clients, Operations: facts.Operations,
		MemoryUsed: facts.MemoryUsed, MemoryMax: facts.MemoryMax, EvictionPolicy: facts.EvictionPolicy,
		Evicted: facts.Evicted, CPU: facts.CPU, run: facts.RunID,
		AppendOnly: facts.AppendOnly, Unsaved: facts.Unsaved,
		SaveFailed: facts.SaveStatus == "err" || facts.AppendOnly && facts.WriteStatus == "err",
	}
	if facts.LastSave > 0 {
		info.LastSave = time.Unix(facts.LastSave, 0)
	}
	return info
}
