package topology

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// SentinelOptions say what StartSentinels starts.
type SentinelOptions struct {
	Replicas  int           // of the primary; 0 means 1
	DownAfter time.Duration // of silence until the Sentinels take a server for dead; 0 means 1 s
	Args      []string      // more arguments of the servers with data, as "--min-replicas-to-write", "1"
}

// Sentinels are a primary with replicas, and three Sentinels that watch it, of which two must agree.
type Sentinels struct {
	Data     []*Server // the first is the primary to begin with
	Watchers []*Server

	t     testing.TB
	links *links
}

// Master is the name by which the Sentinels know the primary.
const Master = "shop"

// StartSentinels returns when the replicas follow and each Sentinel knows all of them and the other Sentinels.
func StartSentinels(t testing.TB, opt SentinelOptions) *Sentinels {
	t.Helper()
	s := &Sentinels{t: t, links: newLinks()}
	replicas, down := cmp.Or(opt.Replicas, 1), cmp.Or(opt.DownAfter, time.Second)
	for range 1 + replicas {
		s.Data = append(s.Data, s.links.start(t, plain, "", opt.Args...))
	}
	primary := s.Data[0]
	host, port, err := net.SplitHostPort(primary.Addr())
	primary.check(err)
	for _, replica := range s.Data[1:] {
		replica.must("REPLICAOF", host, port)
		replica.must("CONFIG", "REWRITE")
	}
	s.awaitLinks(primary)
	for range 3 {
		// The time of a failover bounds how soon after it another may begin: twice that.
		s.Watchers = append(s.Watchers, s.links.start(t, sentinel, fmt.Sprintf(
			"sentinel monitor %s %s %s 2\nsentinel down-after-milliseconds %s %d\nsentinel failover-timeout %s 2000\n",
			Master, host, port, Master, down.Milliseconds(), Master)))
	}
	for _, watcher := range s.Watchers {
		gate := watcher.front
		watcher.must("SENTINEL", "CONFIG", "SET", "announce-ip", gate.addr)
		watcher.must("SENTINEL", "CONFIG", "SET", "announce-port", gate.port)
	}
	s.awaitWatch()
	return s
}

// Primary is the one that the Sentinels name.
func (s *Sentinels) Primary() *Server {
	s.t.Helper()
	var primary *Server
	await(s.t, "the primary", func() (err error) {
		primary, err = s.named()
		return err
	})
	return primary
}

// named is the server that most Sentinels name.
func (s *Sentinels) named() (*Server, error) {
	votes, last := map[string]int{}, errors.New("none of the Sentinels answers")
	for _, watcher := range s.Watchers {
		at, err := redis.Strings(watcher.Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", Master))
		if err != nil || len(at) != 2 {
			last = fmt.Errorf("%s says %q: %w", watcher.Addr(), at, err)
			continue
		}
		votes[net.JoinHostPort(at[0], at[1])]++
	}
	for _, server := range s.Data {
		if votes[server.Addr()] > len(s.Watchers)/2 {
			return server, nil
		}
	}
	return nil, fmt.Errorf("the Sentinels do not agree: %v: %w", votes, last)
}

// Replicas are the other servers with data, running or not.
func (s *Sentinels) Replicas() []*Server {
	s.t.Helper()
	var others []*Server
	for primary, i := s.Primary(), 0; i < len(s.Data); i++ {
		if s.Data[i] != primary {
			others = append(others, s.Data[i])
		}
	}
	return others
}

// AwaitPromotion waits until the Sentinels name another primary, which says so itself, and returns it.
func (s *Sentinels) AwaitPromotion(old *Server) *Server {
	s.t.Helper()
	var promoted *Server
	await(s.t, "a promotion", func() (err error) {
		promoted, err = s.named()
		switch {
		case err != nil:
			return err
		case promoted == old:
			return fmt.Errorf("the Sentinels still name %s", old.Addr())
		case promoted.Info("role") != "master":
			return fmt.Errorf("%s is no primary yet", promoted.Addr())
		}
		return nil
	})
	return promoted
}

// Hold ends the failovers: from here on the Sentinels take a server for dead only after a minute of silence. Until then
// one that a starved machine keeps from answering for a second is replaced as well, which a test that goes on after its
// own failover is not about. It returns the primary that they name now.
func (s *Sentinels) Hold() *Server {
	s.t.Helper()
	for _, watcher := range s.Watchers {
		watcher.must("SENTINEL", "SET", Master, "down-after-milliseconds", patience.Milliseconds())
	}
	return s.Primary()
}

// AwaitReplica waits until a server follows the primary and has all its data.
func (s *Sentinels) AwaitReplica(of *Server) {
	s.t.Helper()
	c := catchUp{}
	await(s.t, "a replica of the primary", func() error {
		primary, err := s.named()
		if err != nil {
			return err
		}
		return c.follows(of, primary)
	})
}

// Lag makes replicas be that far behind their primary. 0 ends it.
func (s *Sentinels) Lag(lag time.Duration) { s.links.change(func() { s.links.lag = lag }) }

// DSN is redis+sentinel:// with all Sentinels and the name of the primary.
func (s *Sentinels) DSN() string {
	addrs := make([]string, len(s.Watchers))
	for i, watcher := range s.Watchers {
		addrs[i] = watcher.Addr()
	}
	return "redis+sentinel://" + strings.Join(addrs, ",") + "/" + Master
}

func (s *Sentinels) awaitLinks(primary *Server) {
	s.t.Helper()
	c := catchUp{}
	await(s.t, "replicas that follow", func() error {
		for _, replica := range s.Data {
			if replica == primary {
				continue
			}
			if err := c.follows(replica, primary); err != nil {
				return err
			}
		}
		return nil
	})
}

// catchUp is how far primaries were when the link of each replica was seen to be up.
type catchUp map[*Server]int

// follows is nil if one server is a replica of the other, and has what the other had when their link was up. That it is
// up does not say so: a replica that has been sent everything anew is sent what came meanwhile only after its next word
// to the primary, up to a second later.
func (c catchUp) follows(replica, primary *Server) error {
	info, err := redis.String(replica.Do("INFO", "replication"))
	if err != nil {
		return err
	}
	of := net.JoinHostPort(line(info, "master_host:"), line(info, "master_port:"))
	if of != primary.Addr() || line(info, "master_link_status:") != "up" {
		delete(c, replica)
		return fmt.Errorf("%s does not follow %s: role %s of %s, link %s", replica.Addr(), primary.Addr(),
			line(info, "role:"), of, line(info, "master_link_status:"))
	}
	if _, known := c[replica]; !known {
		if c[replica], err = strconv.Atoi(primary.Info("master_repl_offset")); err != nil {
			delete(c, replica)
			return fmt.Errorf("%s does not tell how far it is: %w", primary.Addr(), err)
		}
	}
	if has, _ := strconv.Atoi(line(info, "slave_repl_offset:")); has < c[replica] {
		return fmt.Errorf("%s is at %d, %s was at %d", replica.Addr(), has, primary.Addr(), c[replica])
	}
	return nil
}

// awaitWatch waits until every Sentinel knows all others and all replicas, so that it could act.
func (s *Sentinels) awaitWatch() {
	s.t.Helper()
	await(s.t, "Sentinels that know each other", func() error {
		for _, watcher := range s.Watchers {
			known, err := redis.StringMap(watcher.Do("SENTINEL", "MASTER", Master))
			if err != nil {
				return err
			}
			if known["num-slaves"] != fmt.Sprint(len(s.Data)-1) || known["flags"] != "master" ||
				known["num-other-sentinels"] != fmt.Sprint(len(s.Watchers)-1) {
				return fmt.Errorf("%s knows %s replicas and %s Sentinels of %q", watcher.Addr(), known["num-slaves"],
					known["num-other-sentinels"], known["flags"])
			}
		}
		return nil
	})
}
