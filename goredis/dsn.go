package goredis

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/redis/go-redis/v9"

	"github.com/265d0351/work/internal/redisconn"
)

func init() {
	redisconn.RegisterScheme("redis+sentinel", openSentinel)
	redisconn.RegisterScheme("redis+cluster", openCluster)
}

// openSentinel makes the driver of redis+sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/MASTER?key=value. User and
// password are those of the master.
func openSentinel(u *url.URL) (redisconn.Driver, error) {
	opt, err := sentinelOptions(u)
	if err != nil {
		return nil, err
	}
	client := redis.NewFailoverClient(opt)
	watched := failover{single{client}, opt, slices.Clone(opt.SentinelAddrs)}
	return &ownDriver{driver: newDriver(watched), client: client}, nil
}

func sentinelOptions(u *url.URL) (*redis.FailoverOptions, error) {
	s, err := redisconn.SettingsOf(u, "26379", "sentinel_user", "sentinel_password")
	if err != nil {
		return nil, err
	}
	master := strings.TrimPrefix(u.Path, "/")
	switch {
	case master == "":
		return nil, errors.New("names no master: write redis+sentinel://HOST:26379,HOST:26379/MASTER")
	case strings.ContainsFunc(master, unicode.IsSpace):
		return nil, fmt.Errorf("has the master %q: no name that Sentinels know has a space", master)
	case strings.Contains(master, "/"):
		return nil, fmt.Errorf("has the path %q: it is the name of the master, and the database is ?db=0", master)
	case s.Own["sentinel_user"] != "" && s.Own["sentinel_password"] == "":
		return nil, errors.New("has a sentinel_user without a sentinel_password: give both, or the password alone")
	}
	return &redis.FailoverOptions{
		MasterName: master, SentinelAddrs: s.Addrs,
		SentinelUsername: s.Own["sentinel_user"], SentinelPassword: s.Own["sentinel_password"],
		Username: s.User, Password: s.Password, DB: s.DB, TLSConfig: s.TLS,
		MaxRetries: -1, DialerRetries: 1, Protocol: 2,
		DialTimeout: s.DialTimeout, ReadTimeout: s.ReadTimeout, WriteTimeout: s.WriteTimeout,
		PoolSize: s.PoolSize, MaxActiveConns: s.PoolSize, ConnMaxIdleTime: never(s.IdleTimeout),
		ConnMaxLifetime: never(s.MaxConnLifetime),
	}, nil
}

// openCluster makes the driver of redis+cluster://USER:PASSWORD@HOST:PORT,HOST:PORT?key=value. One server that answers
// is enough to find the others.
func openCluster(u *url.URL) (redisconn.Driver, error) {
	opt, err := clusterOptions(u)
	if err != nil {
		return nil, err
	}
	client := redis.NewClusterClient(opt)
	return &ownDriver{driver: newDriver(&cluster{client: client}), client: client}, nil
}

func clusterOptions(u *url.URL) (*redis.ClusterOptions, error) {
	s, err := redisconn.SettingsOf(u, "6379")
	switch {
	case err != nil:
		return nil, err
	case s.DB != 0:
		return nil, fmt.Errorf("has db=%d: a cluster has the database 0 only", s.DB)
	case strings.TrimPrefix(u.Path, "/") != "":
		return nil, fmt.Errorf("has the path %q: a cluster has neither a master's name nor databases, so leave it out",
			u.Path)
	}
	return &redis.ClusterOptions{
		Addrs: s.Addrs, Username: s.User, Password: s.Password, TLSConfig: s.TLS,
		MaxRetries: -1, DialerRetries: 1, Protocol: 2,
		DialTimeout: s.DialTimeout, ReadTimeout: s.ReadTimeout, WriteTimeout: s.WriteTimeout,
		PoolSize: s.PoolSize, MaxActiveConns: s.PoolSize, ConnMaxIdleTime: never(s.IdleTimeout),
		ConnMaxLifetime: never(s.MaxConnLifetime),
	}, nil
}

// ownDriver is a driver whose client is closed with it.
type ownDriver struct {
	*driver
	client redis.UniversalClient
}

func (d *ownDriver) Close() error {
	if d.life.Err() != nil {
		return nil
	}
	d.end()
	return d.client.Close()
}

// never is how go-redis writes that there is no limit.
func never(limit time.Duration) time.Duration {
	if limit == 0 {
		return -1
	}
	return limit
}
