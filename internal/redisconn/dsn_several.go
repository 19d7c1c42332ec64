package redisconn

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// severalPrefix is what the schemes of DSNs that name several servers begin with.
const severalPrefix = "redis+"

// oneHost leaves one of several hosts in what stands before the path, so that it can be parsed, and returns them all.
func oneHost(scheme, authority string) (one, hosts string, err error) {
	user, hosts := "", authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, hosts = authority[:at+1], authority[at+1:]
	}
	first, _, several := strings.Cut(hosts, ",")
	switch {
	case strings.HasPrefix(scheme, severalPrefix) && strings.Count(authority, "@") > 1:
		return "", "", errors.New("has more than one @ before its path: user and password stand once, before the " +
			"first server; " + encodeRemedy)
	case !several:
		return authority, "", nil
	case strings.HasPrefix(scheme, severalPrefix):
		return user + first, hosts, nil
	}
	return "", "", errors.New("names several servers: write redis+sentinel://HOST,HOST/MASTER or " +
		`redis+cluster://HOST,HOST, and import _ "github.com/265d0351/work/goredis"`)
}

// Settings are what a DSN of several servers says beside its scheme and its path.
type Settings struct {
	Addrs           []string
	User, Password  string
	DB              int
	PoolSize        int
	DialTimeout     time.Duration
	ReadTimeout     time.Duration
	WriteTimeout    time.Duration
	IdleTimeout     time.Duration     // 0: no limit
	MaxConnLifetime time.Duration     // as above
	TLS             *tls.Config       // nil: plain. ServerName is empty where each server has its own
	Own             map[string]string // the options that the scheme has for itself, of those that were given
}

// SettingsOf reads a DSN of several servers. own are options that its scheme has for itself. The errors go on behind
// "redis DSN ...", and have no password.
func SettingsOf(u *url.URL, port string, own ...string) (*Settings, error) {
	e := &endpoint{
		network: "several", poolSize: defaultPoolSize, dialTimeout: defaultDialTimeout,
		readTimeout: defaultReadTimeout, writeTimeout: defaultWriteTimeout, idleTimeout: defaultIdleTimeout,
		own: append([]string{"tls"}, own...),
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("has a query that is not key=value&key=value: " + encodeRemedy)
	}
	addrs, err := addrsOf(u.Host, port)
	if err != nil {
		return nil, err
	}
	for _, set := range []func() error{
		func() error { return e.setUser(u.User) },
		func() error { return e.setOptions(query) },
		func() error { return e.setTLSOf(query) },
		func() error {
			if !query.Has("db") {
				return nil
			}
			return e.setDB(query.Get("db"), "db")
		},
	} {
		if err := set(); err != nil {
			return nil, err
		}
	}
	s := &Settings{Addrs: addrs, User: e.user, Password: e.password, DB: e.db, PoolSize: e.poolSize,
		DialTimeout: e.dialTimeout, ReadTimeout: e.readTimeout, WriteTimeout: e.writeTimeout,
		IdleTimeout: e.idleTimeout, MaxConnLifetime: e.maxConnLifetime, TLS: e.tls, Own: map[string]string{}}
	for _, key := range own {
		if query.Has(key) && query.Get(key) == "" {
			return nil, fmt.Errorf("has the option %s without a value: give one, or leave it out", key)
		}
		if query.Has(key) {
			s.Own[key] = query.Get(key)
		}
	}
	return s, nil
}

// setTLSOf is setTLS where the option tls stands for the scheme rediss.
func (e *endpoint) setTLSOf(query url.Values) error {
	on := false
	if query.Has("tls") {
		var err error
		if on, err = strconv.ParseBool(query.Get("tls")); err != nil {
			return fmt.Errorf("has tls=%q: use true or false", query.Get("tls"))
		}
	}
	if !on {
		for _, key := range slices.Sorted(maps.Keys(query)) {
			if strings.HasPrefix(key, "tls_") {
				return fmt.Errorf("has the option %s but not tls=true: add that", key)
			}
		}
		return nil
	}
	if err := e.setTLS(&url.URL{Scheme: "rediss"}, query); err != nil {
		return err
	}
	e.tls.ServerName = query.Get("tls_server_name")
	return nil
}

// addrsOf are the servers, each with a port.
func addrsOf(hosts, port string) ([]string, error) {
	var addrs []string
	for host := range strings.SplitSeq(hosts, ",") {
		u := url.URL{Host: host}
		name, number := u.Hostname(), u.Port()
		if number == "" {
			number = port
		}
		n, err := strconv.Atoi(number)
		switch {
		case name == "" || strings.ContainsAny(name, "/ "):
			return nil, fmt.Errorf("has the server %q: write HOST:PORT,HOST:PORT", host)
		case strings.Contains(name, ":") && !strings.HasPrefix(host, "["): // not quoted: it may be a password
			return nil, errors.New("has a server with a port that is no number: use 1 to 65535")
		case err != nil || n < 1 || n > 65535:
			return nil, fmt.Errorf("has the port %q: use 1 to 65535", number)
		}
		addr := net.JoinHostPort(name, number)
		if slices.Contains(addrs, addr) {
			return nil, fmt.Errorf("names the server %s twice: give each once", addr)
		}
		addrs = append(addrs, addr)
	}
	return addrs, nil
}
