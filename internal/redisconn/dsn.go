package redisconn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/nearest"
)

const (
	// defaultPoolSize is far above what one worker uses at a time (fetch, settle, a few lanes, a few daemons), and
	// far below what a fleet may open at one Redis (10,000 clients by default).
	defaultPoolSize     = 32
	maxPoolSize         = 10_000
	defaultDialTimeout  = 2 * time.Second
	defaultReadTimeout  = 3 * time.Second
	defaultWriteTimeout = 3 * time.Second
	defaultIdleTimeout  = 2 * time.Minute // below the 4 minutes after which common load balancers forget a connection
)

// endpoint is what a DSN says.
type endpoint struct {
	network, addr   string
	user, password  string
	db              int
	poolSize        int
	dialTimeout     time.Duration // to have a connection ready for use: with TLS, AUTH and SELECT
	readTimeout     time.Duration
	writeTimeout    time.Duration
	idleTimeout     time.Duration
	maxConnLifetime time.Duration // 0: no limit
	tls             *tls.Config   // nil: plain
	own             []string      // options of the scheme that are read elsewhere
	within          DialFunc      // nil: a connection by the network
}

var schemes = struct {
	sync.Mutex
	open map[string]func(u *url.URL) (Driver, error)
}{open: map[string]func(u *url.URL) (Driver, error){}}

// RegisterScheme makes Open hand DSNs of the scheme to open. The embedded Redis registers memory:// this way, so that
// this package need not import it.
func RegisterScheme(scheme string, open func(u *url.URL) (Driver, error)) {
	schemes.Lock()
	defer schemes.Unlock()
	schemes.open[scheme] = open
}

// Open makes a Driver of redis://, rediss://, unix:// or a registered scheme. It reads TLS files but does not connect:
// that happens at the first use. Its errors never contain the password.
func Open(dsn string) (Driver, error) {
	u, err := parseDSN(dsn)
	if err != nil {
		return nil, refusedDSN(dsn, err)
	}
	schemes.Lock()
	open := schemes.open[u.Scheme]
	schemes.Unlock()
	if open != nil {
		driver, err := open(u)
		if err != nil && strings.HasPrefix(u.Scheme, severalPrefix) {
			return nil, refusedDSN(dsn, err)
		}
		return driver, err
	}
	e, err := newEndpoint(u)
	if err != nil {
		return nil, refusedDSN(dsn, err)
	}
	return newRedigoDriver(e.driver()), nil
}

// DialFunc makes a connection to a server.
type DialFunc func(ctx context.Context) (net.Conn, error)

// OpenWithin makes a Driver whose connections dial makes, with the path and the options of u as in redis://. Its errors
// call the server addr.
func OpenWithin(u *url.URL, addr string, dial DialFunc) (Driver, error) {
	plain := &url.URL{Scheme: "redis", Host: "localhost", Path: u.Path, RawQuery: u.RawQuery}
	e, err := newEndpoint(plain)
	if err != nil {
		return nil, refusedDSN(u.String(), err)
	}
	e.addr, e.within = addr, dial
	return newRedigoDriver(e.driver()), nil
}

func refusedDSN(dsn string, err error) error {
	return fmt.Errorf("redis DSN %s %w", excerpt.Quoted(redactDSN(dsn)), excerpt.Error(err))
}

const encodeRemedy = "write the characters / ? # @ % of a user, password or path as %2F %3F %23 %40 %25"

// parseDSN takes a DSN apart. It passes on nothing that url.Parse says: that may quote a part of the password.
func parseDSN(dsn string) (*url.URL, error) {
	scheme, rest, found := cutScheme(dsn)
	if !found {
		return nil, errors.New("has no scheme: write for instance redis://localhost:6379/0")
	}
	if err := checkScheme(scheme, knownSchemes()); err != nil {
		return nil, err
	}
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	one, hosts, err := oneHost(scheme, authority)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(scheme + "://" + one + rest[len(authority):])
	if err != nil {
		return nil, errors.New("is not a valid URL: the form is redis://USER:PASSWORD@HOST:PORT/DB; " + encodeRemedy)
	}
	if hosts != "" {
		u.Host = hosts
	}
	if strings.Contains(rest[len(authority):], "@") { // a password with a slash was cut in two
		return nil, errors.New("has an @ after its host: " + encodeRemedy)
	}
	if u.Fragment != "" || strings.HasSuffix(dsn, "#") {
		return nil, errors.New("has a # with something after it: remove it, or " + encodeRemedy)
	}
	return u, nil
}

// redactDSN hides everything up to the last @, what stands where a port should be and is none, and all values of the
// query.
func redactDSN(dsn string) string {
	scheme, rest, found := cutScheme(dsn)
	if found {
		scheme += "://"
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = "***" + rest[at:]
	} else {
		rest = maskedPort(rest)
	}
	if query := strings.IndexByte(rest, '?'); query >= 0 {
		rest = rest[:query] + "?..."
	}
	return scheme + rest
}

// maskedPort hides what follows the first colon behind which there is no port, or before which there is no host: of
// redis://:PASSWORD the @HOST was forgotten.
func maskedPort(rest string) string {
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	at := 0
	for host := range strings.SplitSeq(authority, ",") {
		colon := strings.IndexByte(host[strings.LastIndexByte(host, ']')+1:], ':')
		if colon >= 0 {
			colon += strings.LastIndexByte(host, ']') + 1
			_, err := strconv.ParseUint(host[colon+1:], 10, 16)
			if (err != nil || colon == 0) && host[colon+1:] != "" {
				return rest[:at+colon] + ":***"
			}
		}
		at += len(host) + 1
	}
	return rest
}

func cutScheme(dsn string) (scheme, rest string, found bool) {
	scheme, rest, found = strings.Cut(dsn, "://")
	if !found || strings.ContainsAny(scheme, ":@/?#") {
		return "", dsn, false
	}
	return scheme, rest, true
}

// knownSchemes are those that Open takes now, sorted.
func knownSchemes() []string {
	schemes.Lock()
	defer schemes.Unlock()
	known := append(slices.Collect(maps.Keys(schemes.open)), "redis", "rediss", "unix")
	slices.Sort(known)
	return known
}

func checkScheme(scheme string, known []string) error {
	if slices.Contains(known, scheme) {
		return nil
	}
	if scheme == "memory" {
		return errors.New(`needs the embedded Redis: import _ "github.com/265d0351/work/embedded"`)
	}
	if plain, secured := strings.CutPrefix(scheme, "rediss+"); secured {
		return fmt.Errorf("has the scheme %q: write %s%s, and tls=true in the query", scheme, severalPrefix, plain)
	}
	if scheme == "redis+sentinel" || scheme == "redis+cluster" {
		return errors.New(`needs go-redis: import _ "github.com/265d0351/work/goredis"`)
	}
	return fmt.Errorf("has the scheme %q%s: use one of %s", scheme, didYouMean(scheme, known),
		strings.Join(known, ", "))
}

func newEndpoint(u *url.URL) (*endpoint, error) {
	e := &endpoint{
		network: "tcp", poolSize: defaultPoolSize, dialTimeout: defaultDialTimeout, readTimeout: defaultReadTimeout,
		writeTimeout: defaultWriteTimeout, idleTimeout: defaultIdleTimeout,
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("has a query that is not key=value&key=value: " + encodeRemedy)
	}
	if err := e.setUser(u.User); err != nil {
		return nil, err
	}
	if u.Scheme == "unix" {
		err = e.setSocket(u, query)
	} else {
		err = e.setHost(u)
	}
	if err != nil {
		return nil, err
	}
	if err := e.setOptions(query); err != nil {
		return nil, err
	}
	return e, e.setTLS(u, query)
}

func (e *endpoint) setUser(user *url.Userinfo) error {
	if user == nil {
		return nil
	}
	e.user = user.Username()
	e.password, _ = user.Password()
	if e.password == "" {
		return errors.New("has something before the @ but no password: write redis://:PASSWORD@HOST or " +
			"redis://USER:PASSWORD@HOST")
	}
	return nil
}

func (e *endpoint) setHost(u *url.URL) error {
	host, port := u.Hostname(), u.Port()
	if host == "" {
		host = "localhost"
	}
	if port == "" {
		port = "6379"
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("has the port %q: use 1 to 65535", port)
	}
	e.addr = net.JoinHostPort(host, port)
	path := strings.TrimPrefix(u.Path, "/")
	if path == "" {
		return nil
	}
	return e.setDB(path, "path")
}

func (e *endpoint) setSocket(u *url.URL, query url.Values) error {
	e.network, e.addr = "unix", u.Path
	if u.Host != "" || u.Path == "" || u.Path == "/" {
		return errors.New("does not name a socket: write unix:///path/to/redis.sock, with three slashes")
	}
	if !query.Has("db") {
		return nil
	}
	return e.setDB(query.Get("db"), "db")
}

func (e *endpoint) setDB(text, where string) error {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return fmt.Errorf("has the %s %q: it is the number of a database, for instance 0", where, text)
	}
	e.db = int(n)
	return nil
}

// didYouMean is " (did you mean ...?)" for the known word that is nearest, else empty.
func didYouMean(word string, known []string) string {
	meant := nearest.DidYouMean(word, known, func(word string) string { return word })
	if meant == "" {
		return ""
	}
	return " (" + meant + ")"
}
