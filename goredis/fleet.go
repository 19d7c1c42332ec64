package goredis

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/265d0351/work/internal/redisconn"
)

// failoverName is what go-redis calls the address of a client that asks Sentinels.
const failoverName = "FailoverClient"

// errAlone is for a client that knows one server and has no right to others.
var errAlone = errors.New("the client of go-redis is for one server alone")

// Follows tells whether calls go to another server when the keys do.
func (d *driver) Follows() bool {
	_, err := d.nodes.options()
	return err == nil
}

// Ask makes calls to one of the other servers, as the client would if it were the one that has the keys.
func (d *driver) Ask(ctx context.Context, addr string, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	opt, err := d.nodes.options()
	if err != nil {
		return nil, err
	}
	opt.Addr = addr
	client := redis.NewClient(opt)
	defer client.Close() //lint:ignore errcheck it has no connection: dial makes its own
	w, err := dial(ctx, client)
	if err != nil {
		return nil, err
	}
	defer w.end()
	return w.send(ctx, calls)
}

// Sentinels is nil for a client that asks none, and for one of the program's, which does not tell where they are.
func (d *driver) Sentinels(ctx context.Context) (*redisconn.Sentinels, error) {
	f, is := d.nodes.(failover)
	if !is {
		return nil, nil
	}
	return f.view(ctx)
}

// Where is the address of the server, if there is one alone.
func (d *driver) Where() string {
	if d.Follows() {
		return ""
	}
	return d.nodes.name()
}

// options are those for another server than the one that has the keys.
func (s single) options() (*redis.Options, error) {
	opt := *s.client.Options()
	if opt.Addr != failoverName {
		return nil, errAlone
	}
	opt.Dialer = nil // it dials the primary, whatever the address is
	return &opt, nil
}

func (c *cluster) options() (*redis.Options, error) {
	opt := c.client.Options()
	return &redis.Options{Username: opt.Username, Password: opt.Password, TLSConfig: opt.TLSConfig, Dialer: opt.Dialer,
		CredentialsProvider: opt.CredentialsProvider, CredentialsProviderContext: opt.CredentialsProviderContext,
		StreamingCredentialsProvider: opt.StreamingCredentialsProvider, OnConnect: opt.OnConnect, Protocol: 2,
		DialTimeout: opt.DialTimeout, ReadTimeout: opt.ReadTimeout, WriteTimeout: opt.WriteTimeout}, nil
}

func (f failover) options() (*redis.Options, error) {
	return &redis.Options{Username: f.opt.Username, Password: f.opt.Password, DB: f.opt.DB, TLSConfig: f.opt.TLSConfig,
		Protocol: 2, DialTimeout: f.opt.DialTimeout, ReadTimeout: f.opt.ReadTimeout,
		WriteTimeout: f.opt.WriteTimeout}, nil
}

// view is what the first Sentinel that answers knows.
func (f failover) view(ctx context.Context) (*redisconn.Sentinels, error) {
	var failed error
	for _, addr := range f.addrs {
		master, err := f.ask(ctx, addr, "master", f.opt.MasterName)
		if err != nil {
			failed = errors.Join(failed, notSent(addr, f.opt.SentinelPassword, err))
			continue
		}
		one := pairsOf([]any{master})[0]
		others, _ := strconv.Atoi(one["num-other-sentinels"])
		quorum, _ := strconv.Atoi(one["quorum"])
		view := &redisconn.Sentinels{Primary: f.opt.MasterName, Addr: net.JoinHostPort(one["ip"], one["port"]),
			Asked: f.addrs, Known: others + 1, Quorum: quorum, State: stateOf(one["flags"])}
		replicas, err := f.ask(ctx, addr, "replicas", f.opt.MasterName)
		for _, replica := range pairsOf(replicas) {
			view.Replicas = append(view.Replicas, redisconn.SentinelReplica{
				Addr: net.JoinHostPort(replica["ip"], replica["port"]), State: stateOf(replica["flags"])})
		}
		return view, err
	}
	return nil, failed
}

// stateOf is what is wrong with a server whose flags a Sentinel tells, as "s_down,slave,disconnected".
func stateOf(flags string) string {
	var wrong []string
	for flag := range strings.SplitSeq(flags, ",") {
		switch flag {
		case "master", "slave", "sentinel", "":
		default:
			wrong = append(wrong, flag)
		}
	}
	return cmp.Or(strings.Join(wrong, ","), "ok")
}
