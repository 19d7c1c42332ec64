package goredis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/265d0351/work/internal/redisconn"
)

// mastersTimeout is how long Sentinels are asked what they watch: more is not spent on a better error.
const mastersTimeout = time.Second

// explainer is what some nodes are besides: they know where a client that reaches no server should lead.
type explainer interface {
	explain(ctx context.Context, err error) error
}

// explain says what is wrong with a client that reaches no server of the kind that it is made for.
func (d *driver) explain(ctx context.Context, err error) error {
	var refused *redisconn.ServerError
	var unsent *redisconn.DialError
	if errors.As(err, &unsent) && unsent.Addr == failoverName {
		err = &redisconn.DialError{Addr: d.nodes.name(), Err: unsent.Err}
	}
	if e, is := d.nodes.(explainer); is && errors.As(err, &refused) {
		return e.explain(ctx, err)
	}
	return err
}

// askApart asks on a connection outside of the client's pool.
func (d *driver) askApart(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	node, err := d.node(ctx, anySlot)
	if err != nil {
		return nil, err
	}
	w, err := dial(ctx, node)
	if err != nil {
		return nil, err
	}
	defer w.end()
	return w.send(ctx, calls)
}

// signpostOf is for a client of one server. One that asks Sentinels is led by them.
func signpostOf(client *redis.Client) *redisconn.Signpost {
	if client.Options().Addr == failoverName {
		return nil
	}
	return &redisconn.Signpost{Addr: client.Options().Addr, Client: "go-redis"}
}

func (c *cluster) explain(_ context.Context, err error) error {
	text := err.Error()
	e := &redisconn.WrongServerError{Where: strings.Join(c.client.Options().Addrs, ","), Answered: err}
	switch {
	case strings.Contains(text, "cluster support disabled"):
		e.Problem = "is a single Redis and no node of a cluster"
		e.Remedy = "use redis://" + c.client.Options().Addrs[0]
	case strings.Contains(strings.ToLower(text), "unknown command 'cluster'"):
		e.Problem = "is no node of a cluster, perhaps a Sentinel"
		e.Remedy = "name nodes of the cluster, or use redis+sentinel://" + e.Where + "/MASTER"
	default:
		return err
	}
	return e
}

// failover is the server that the Sentinels of a DSN name.
type failover struct {
	single
	opt   *redis.FailoverOptions
	addrs []string // of the Sentinels: go-redis changes the order of its own
}

func (f failover) name() string {
	return fmt.Sprintf("the primary %s of the Sentinels %s", f.opt.MasterName, f.sentinels())
}

func (f failover) sentinels() string { return strings.Join(f.addrs, ",") }

func (f failover) explain(ctx context.Context, err error) error {
	text := strings.ToLower(err.Error())
	e := &redisconn.WrongServerError{Where: f.sentinels(), Answered: err}
	switch {
	case strings.Contains(text, "unknown command 'sentinel'"):
		e.Problem = "is a Redis and no Sentinel"
		e.Remedy = "use redis://" + f.addrs[0] + ", or name the Sentinels, which listen on 26379 usually"
	case strings.Contains(text, "redis: nil"):
		e.Problem = fmt.Sprintf("watches no primary that is called %q", f.opt.MasterName)
		e.Remedy = "write the name behind the address as \"sentinel monitor\" has it"
		if names := f.masters(ctx); len(names) > 0 {
			e.Remedy += ": " + strings.Join(names, ", ")
		}
	default:
		return err
	}
	return e
}

// masters are the primaries that the Sentinels watch, of the first that answers.
func (f failover) masters(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, mastersTimeout)
	defer cancel()
	for _, addr := range f.addrs {
		answer, err := f.ask(ctx, addr, "masters")
		if err != nil {
			continue
		}
		var names []string
		for _, master := range pairsOf(answer) {
			names = append(names, master["name"])
		}
		return names
	}
	return nil
}

// ask makes one call to a Sentinel.
func (f failover) ask(ctx context.Context, addr string, args ...any) (any, error) {
	client := redis.NewClient(&redis.Options{Addr: addr, Username: f.opt.SentinelUsername,
		Password: f.opt.SentinelPassword, TLSConfig: f.opt.TLSConfig, Protocol: 2, MaxRetries: -1, PoolSize: 1,
		DialTimeout: f.opt.DialTimeout, ReadTimeout: f.opt.ReadTimeout, WriteTimeout: f.opt.WriteTimeout})
	defer client.Close() //lint:ignore errcheck the answer was read
	return client.Do(ctx, append([]any{"SENTINEL"}, args...)...).Result()
}

// pairsOf reads a list of lists of names and values.
func pairsOf(answer any) []map[string]string {
	list, _ := answer.([]any)
	var all []map[string]string
	for _, one := range list {
		fields, _ := one.([]any)
		pairs := map[string]string{}
		for i := 0; i+1 < len(fields); i += 2 {
			name, _ := fields[i].(string)
			pairs[name], _ = fields[i+1].(string)
		}
		all = append(all, pairs)
	}
	return all
}
