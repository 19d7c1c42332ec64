package redisconn

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"
)

// What is known of a server that refuses calls is asked again after these times. A replica may be promoted; that an
// unknown command is no sign of a Sentinel hardly changes.
const (
	replicaKnown = time.Second
	kindKnown    = time.Minute
	askTimeout   = time.Second // more is not spent on a better error
)

const importGoredis = `import _ "github.com/265d0351/work/goredis"`

// Signpost explains the refusals of a single server that is not the one which was meant, and says where to go instead.
// It asks that server what it is, only when it has refused something. Its methods may be called concurrently.
type Signpost struct {
	Addr   string // of the server; empty where only its owner knows it
	Client string // what leads there, where that is no DSN: "redigo" or "go-redis"
	Query  string // what a DSN needs besides: "?tls=true"

	mu    sync.Mutex
	asked map[string]note // by the section of INFO
}

// note is what a server has said of itself.
type note struct {
	said  map[string]string
	until time.Time
}

// Asks runs calls on a connection of their own.
type Asks func(ctx context.Context, calls ...Call) ([]Reply, error)

// Explain replaces what Redis said of calls that it refused since it is the wrong server. The calls must be those of
// the replies.
func (s *Signpost) Explain(ctx context.Context, ask Asks, calls []Call, replies []Reply) {
	if s == nil {
		return
	}
	for i := range replies {
		if replies[i].Err != nil {
			replies[i].Err = s.explained(ctx, ask, &calls[i], replies[i].Err)
		}
	}
}

// ExplainDial is Explain for a connection that was refused as it chose its database.
func (s *Signpost) ExplainDial(err error) error {
	var refused *ServerError
	if s == nil || !errors.As(err, &refused) {
		return err
	}
	switch {
	case isUnknown(refused) && strings.Contains(refused.Message, "'SELECT'"),
		isUnknown(refused) && strings.Contains(refused.Message, "'select'"):
		return s.sentinel(err, nil)
	case strings.Contains(refused.Message, "SELECT is not allowed in cluster mode"):
		return &WrongServerError{Where: s.where(), Answered: err,
			Problem: "is a node of a cluster, which has the database 0 only", Remedy: s.useCluster(s.Addr)}
	}
	return err
}

func (s *Signpost) explained(ctx context.Context, ask Asks, call *Call, err error) error {
	switch {
	case code(err) == "MOVED":
		return s.cluster(call, err)
	case code(err) == "READONLY":
		return s.replica(s.info(ctx, ask, "replication", replicaKnown), err)
	case isUnknown(err):
		if said := s.info(ctx, ask, "sentinel", kindKnown); said["sentinel_masters"] != "" {
			return s.sentinel(err, said)
		}
	}
	return err
}

// info is a section of INFO, or empty. It is asked by one goroutine at a time.
func (s *Signpost) info(ctx context.Context, ask Asks, section string, known time.Duration) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, found := s.asked[section]; found && time.Now().Before(last.until) {
		return last.said
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	replies, err := ask(ctx, Call{Command: "INFO", Args: []any{section}})
	said := map[string]string{}
	if err == nil && replies[0].Err == nil {
		said = ParseInfo(replies[0].Value)
	}
	if s.asked == nil {
		s.asked = map[string]note{}
	}
	if err != nil {
		known = min(known, replicaKnown)
	}
	s.asked[section] = note{said, time.Now().Add(known)}
	return said
}

// cluster is for MOVED, which says "MOVED 1234 10.0.0.7:7001".
func (s *Signpost) cluster(call *Call, err error) error {
	var refused *ServerError
	_ = errors.As(err, &refused) // the caller has seen it
	fields := strings.Fields(refused.Message)
	if len(fields) < 3 {
		return err
	}
	slot, at := fields[1], fields[2]
	if host, _, split := net.SplitHostPort(s.Addr); split == nil && strings.HasPrefix(at, ":") {
		at = host + at // a cluster may leave it to the client to know the host
	}
	of := ""
	if key := keyOf(call); key != "" {
		of = " of namespace " + Tag(key)
	}
	return &WrongServerError{Where: s.where(), Answered: err, Remedy: s.useCluster(at),
		Problem: "is a node of a cluster, and slot " + slot + of + " is on " + at}
}

// keyOf is a key of a call, which a plain command has among its arguments, or empty.
func keyOf(call *Call) string {
	if len(call.Keys) > 0 {
		return call.Keys[0]
	}
	for _, arg := range call.Args {
		if text, is := arg.(string); is && strings.HasPrefix(text, "{") {
			return text
		}
	}
	return ""
}

func (s *Signpost) replica(said map[string]string, err error) error {
	e := &WrongServerError{Where: s.where(), Answered: err, MayPass: true, Problem: "is a replica"}
	to := "that of its primary"
	if host := said["master_host"]; host != "" {
		to = net.JoinHostPort(host, said["master_port"])
		e.Problem += " of " + to
	}
	if said["role"] == "master" {
		e.Problem = "was a replica until now"
	}
	e.Remedy = "give the address " + to + ", or Sentinels, which know the primary of the moment: " + s.sentinels()
	return e
}

// sentinels is how to name them, when no address is known.
func (s *Signpost) sentinels() string {
	switch s.Client {
	case "go-redis":
		return "redis.NewFailoverClient"
	case "redigo":
		return "redis+sentinel://HOST:26379,HOST:26379/MASTER in place of the pool, with " + importGoredis
	}
	return "redis+sentinel://HOST:26379,HOST:26379/MASTER" + s.Query + ", with " + importGoredis
}

// sentinel names the primaries that a Sentinel watches, which tells one what was meant.
func (s *Signpost) sentinel(err error, said map[string]string) error {
	masters := mastersOf(said)
	e := &WrongServerError{Where: s.where(), Answered: err, Problem: "is a Redis Sentinel, which stores nothing"}
	first := "MASTER"
	if len(masters) > 0 {
		e.Problem += " (it watches " + strings.Join(masters, ", ") + ")"
		first = masters[0]
	}
	switch {
	case s.Client == "go-redis":
		e.Remedy = "make the client by redis.NewFailoverClient, with MasterName " + first
	case s.Client != "" || s.Addr == "":
		e.Remedy = "use the DSN redis+sentinel://HOST:26379/" + url.PathEscape(first) + " in place of the pool, with " +
			importGoredis
	default:
		e.Remedy = "use redis+sentinel://" + s.Addr + "/" + url.PathEscape(first) + s.Query + ", with " + importGoredis
	}
	return e
}

// mastersOf are the names behind "master0:name=mymaster,status=ok,...".
func mastersOf(said map[string]string) []string {
	const most = 5
	var names []string
	for _, field := range []string{"master0", "master1", "master2", "master3", "master4"} {
		for part := range strings.SplitSeq(said[field], ",") {
			if name, found := strings.CutPrefix(part, "name="); found {
				names = append(names, name)
			}
		}
	}
	if len(names) == most && said["master5"] != "" {
		names = append(names, "...")
	}
	return names
}

func (s *Signpost) useCluster(also string) string {
	switch {
	case s.Client == "go-redis":
		return "make the client by redis.NewClusterClient"
	case s.Client != "" || s.Addr == "":
		return "use the DSN redis+cluster://" + also + " in place of the pool, with " + importGoredis
	case also == s.Addr:
		return "use redis+cluster://" + s.Addr + s.Query + ", with " + importGoredis
	}
	return "use redis+cluster://" + s.Addr + "," + also + s.Query + ", with " + importGoredis
}

// where begins the error.
func (s *Signpost) where() string {
	switch {
	case s.Addr != "":
		return s.Addr
	case s.Client != "":
		return "the server of the given " + s.Client + " client"
	}
	return "the server"
}

// ParseInfo reads what INFO answered, by field. What is not an answer of INFO has no fields.
func ParseInfo(answer any) map[string]string {
	var text string
	switch a := answer.(type) {
	case []byte:
		text = string(a)
	case string:
		text = a
	}
	said := map[string]string{}
	for line := range strings.Lines(text) {
		if field, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			said[field] = value
		}
	}
	return said
}
