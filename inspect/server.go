package inspect

import (
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
}

// Server asks Redis what it is and how it does. It takes three small requests.
func (i *Inspector) Server(ctx context.Context) (ServerInfo, error) {
	if i.unusable != nil {
		return ServerInfo{}, i.unusable
	}
	facts, err := i.store.Server(ctx)
	if err != nil {
		return ServerInfo{}, fmt.Errorf("redis does not say what it is: %w", err)
	}
	asked := time.Now()
	now, err := i.store.Time(ctx)
	took := time.Since(asked)
	if err != nil {
		return ServerInfo{}, fmt.Errorf("the clock of Redis cannot be read: %w", err)
	}
	cpu, err := i.store.CPU(ctx)
	if err != nil {
		return ServerInfo{}, fmt.Errorf("redis does not say what it is: %w", err)
	}
	info := serverInfo(facts)
	info.Now, info.RoundTrip, info.CPU = now, took, cpu
	return info, nil
}

func serverInfo(facts rdb.ServerFacts) ServerInfo {
	info := ServerInfo{
		Version: facts.Version, Role: facts.Role, Uptime: time.Duration(facts.Uptime) * time.Second,
		Clients: facts.Clients, Operations: facts.Operations,
		MemoryUsed: facts.MemoryUsed, MemoryMax: facts.MemoryMax, EvictionPolicy: facts.EvictionPolicy,
		Evicted:    facts.Evicted,
		AppendOnly: facts.AppendOnly, Unsaved: facts.Unsaved,
		SaveFailed: facts.SaveStatus == "err" || facts.AppendOnly && facts.WriteStatus == "err",
	}
	if facts.LastSave > 0 {
		info.LastSave = time.Unix(facts.LastSave, 0)
	}
	return info
}
