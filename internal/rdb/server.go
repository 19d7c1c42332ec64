package rdb

import (
	"context"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/rights"
	"github.com/265d0351/work/internal/servers"
)

// ServerFacts is what a Redis says of itself, as far as it matters here. What it does not say is empty: managed servers
// hide their configuration, and the embedded one has none.
type ServerFacts struct {
	Version        string // "7.0.15"
	EvictionPolicy string // "noeviction"
	Role           string // "master", "slave"
	Mode           string // "standalone", "cluster", "sentinel"
	RunID          string // another one for each start of a server

	Uptime     int64 // seconds
	Clients    int
	MemoryUsed int64 // bytes
	MemoryMax  int64 // bytes; 0 is no limit
	Operations int   // in the last second
	Evicted    int64 // keys, since it started

	AppendOnly  bool   // it writes an append-only file
	WriteStatus string // of that file: "ok", "err"
	SaveStatus  string // of its last snapshot: "ok", "err"
	LastSave    int64  // Unix seconds of the last snapshot
	Unsaved     int64  // changes since

	CPU time.Duration // of ServerOf only: that it has used since it started; 0 where it does not say
}

// serverSections are those of INFO that hold them.
var serverSections = []string{"server", "memory", "replication", "clients", "stats", "persistence"}

// Server asks Redis what it is. A refusal of a question is no error.
func (s *Store) Server(ctx context.Context) (ServerFacts, error) {
	calls := make([]redisconn.Call, 0, len(serverSections))
	for _, section := range serverSections {
		calls = append(calls, redisconn.Call{Command: "INFO", Args: []any{section}})
	}
	return s.serverFacts(ctx, calls)
}

// ServerOf asks the Redis that has this namespace, where calls without keys may go to any of several.
func (s *Store) ServerOf(ctx context.Context) (ServerFacts, error) {
	calls := []redisconn.Call{{Command: "EXISTS", Args: []any{s.keys.layout}}, {Command: "INFO", Args: []any{"cpu"}}}
	for _, section := range serverSections {
		calls = append(calls, redisconn.Call{Command: "INFO", Args: []any{section}})
	}
	return s.serverFacts(ctx, calls)
}

func (s *Store) serverFacts(ctx context.Context, calls []redisconn.Call) (ServerFacts, error) {
	replies, err := s.driver.Pipeline(ctx, calls...)
	if err != nil {
		return ServerFacts{}, err
	}
	said := info{}
	for _, reply := range replies {
		text, _ := reply.Value.([]byte)
		maps.Copy(said, redisconn.ParseInfo(text))
	}
	return ServerFacts{
		Version: said["redis_version"], EvictionPolicy: said["maxmemory_policy"], Role: said["role"],
		Mode: said["redis_mode"], RunID: said["run_id"],
		Uptime: said.number("uptime_in_seconds"), Clients: int(said.number("connected_clients")),
		MemoryUsed: said.number("used_memory"), MemoryMax: said.number("maxmemory"),
		Operations: int(said.number("instantaneous_ops_per_sec")), Evicted: said.number("evicted_keys"),
		AppendOnly: said["aof_enabled"] == "1", WriteStatus: said["aof_last_write_status"],
		SaveStatus: said["rdb_last_bgsave_status"], LastSave: said.number("rdb_last_save_time"),
		Unsaved: said.number("rdb_changes_since_last_save"), CPU: said.cpu(),
	}, nil
}

// Topology finds out which servers there are, of which one has the keys.
func (s *Store) Topology(ctx context.Context) (servers.Topology, error) {
	return servers.Look(ctx, s.bare(), s.keys.epoch)
}

// Follows tells whether calls go to another server when the keys do.
func (s *Store) Follows() bool {
	fleet, is := s.bare().(redisconn.Fleet)
	return is && fleet.Follows()
}

// bare is the driver as it was given, of which more can be asked than calls.
func (s *Store) bare() redisconn.Driver {
	if g, guarded := s.driver.(*rights.Guard); guarded {
		return g.Driver
	}
	return s.driver
}

// info is the answer to INFO, by field.
type info map[string]string

// number is 0 where Redis does not say it.
func (i info) number(field string) int64 {
	n, _ := strconv.ParseInt(i[field], 10, 64)
	return n
}

// cpu is the processor time that was used, with all threads.
func (i info) cpu() time.Duration {
	user, _ := strconv.ParseFloat(i["used_cpu_user"], 64) // 0 where Redis does not say it
	system, _ := strconv.ParseFloat(i["used_cpu_sys"], 64)
	return time.Duration((user + system) * float64(time.Second))
}

// MinVersion is the oldest Redis that is supported. What 6.2 lacks is SINTERCARD, and errors out of scripts that begin
// with the code of the command that was refused, such as OOM.
const MinVersion = "7.0"

// TooOld tells whether the server says that it is older than [MinVersion].
func (f ServerFacts) TooOld() bool {
	major, _, _ := strings.Cut(f.Version, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n < 7
}
