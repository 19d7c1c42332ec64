package redisconn

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDSNIsUnderstood(t *testing.T) {
	t.Parallel()
	type want struct {
		network, addr, user, password string
		db, pool                      int
		read                          time.Duration
		tls                           bool
	}
	plain := want{network: "tcp", addr: "localhost:6379", pool: defaultPoolSize, read: defaultReadTimeout}
	with := func(change func(*want)) want {
		w := plain
		change(&w)
		return w
	}
	for dsn, w := range map[string]want{
		"redis://localhost:6379/0": plain,
		"redis://":                 plain,
		"redis://localhost/":       plain,
		"redis://localhost":        plain,
		"redis://h:1/15":           with(func(w *want) { w.addr, w.db = "h:1", 15 }),
		"redis://[::1]:7000":       with(func(w *want) { w.addr = "[::1]:7000" }),
		"redis://:pw@h":            with(func(w *want) { w.addr, w.password = "h:6379", "pw" }),
		"redis://me:p%40%2Fw@h":    with(func(w *want) { w.addr, w.user, w.password = "h:6379", "me", "p@/w" }),
		"redis://me:p@w@h":         with(func(w *want) { w.addr, w.user, w.password = "h:6379", "me", "p@w" }),
		"redis://localhost?pool_size=7&read_timeout=250ms&dial_timeout=1s&write_timeout=1s&idle_timeout=0s" +
			"&max_conn_lifetime=1h": with(func(w *want) { w.pool, w.read = 7, 250*time.Millisecond }),
		"rediss://h":             with(func(w *want) { w.addr, w.tls = "h:6379", true }),
		"unix:///run/redis.sock": with(func(w *want) { w.network, w.addr = "unix", "/run/redis.sock" }),
		"unix://u:pw@/run/r.sock?db=2": with(func(w *want) {
			w.network, w.addr, w.user, w.password, w.db = "unix",
				"/run/r.sock", "u", "pw", 2
		}),
		"unix:///run/a%20b%40c.sock":    with(func(w *want) { w.network, w.addr = "unix", "/run/a b@c.sock" }),
		"redis://localhost?pool_size=1": with(func(w *want) { w.pool = 1 }),
	} {
		t.Run(dsn, func(t *testing.T) {
			t.Parallel()
			u, err := parseDSN(dsn)
			require.NoError(t, err)
			e, err := newEndpoint(u)
			require.NoError(t, err)
			assert.Equal(t, w, want{e.network, e.addr, e.user, e.password, e.db, e.poolSize, e.readTimeout,
				e.tls != nil})
		})
	}
}

// In each row the error must hold the words, and never the password, which is always s3cr3t or a part of it.
func TestDSNMistakes(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.pem")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for dsn, words := range map[string]string{
		"":                                        "has no scheme: write",
		"localhost:6379":                          `"localhost:6379" has no scheme: write`,
		":s3cr3t@localhost:6379":                  "has no scheme",
		"s3cr3t@redis://h":                        "has no scheme",
		"redys://h":                               `"redys" (did you mean redis?): use one of`,
		"Redis://h":                               "did you mean redis?",
		"redis+tls://h":                           `the scheme "redis+tls": use one of`,
		"http://h":                                `the scheme "http": use one of`,
		"redis://:s3cr3t":                         `redis://:***" is not a valid URL`,
		"redis://h:port":                          "is not a valid URL",
		"redis://u:s3cr3t@h:port":                 "is not a valid URL",
		"redis://u:s3/cr3t@h:6379":                "%2F",
		"redis://u:12/s3cr3t@h:6379":              "an @ after its host",
		"redis://u:12?s3cr3t@h:6379":              "an @ after its host",
		"redis://u:12#s3cr3t@h:6379":              "an @ after its host",
		"redis://u:a@s3/cr3t@h":                   "an @ after its host",
		"redis://u:s3%cr3t@h":                     "is not a valid URL",
		"redis://s3cr3t@h":                        "no password: write",
		"redis://user:@h":                         "no password: write",
		"redis://h:0":                             `the port "0": use 1 to 65535`,
		"redis://h:65536":                         `the port "65536"`,
		"redis://h/one":                           `the path "one": it is the number of a database`,
		"redis://h/-1":                            `the path "-1"`,
		"redis://h/1/":                            `the path "1/"`,
		"redis://h/1/2":                           `the path "1/2"`,
		"redis://h/99999999999":                   `the path "99999999999"`,
		"redis://h/0#x":                           "a # with something after it",
		"redis://h/0#":                            "a # with something after it",
		"redis://h?pool_sise=3":                   `"pool_sise" (did you mean pool_size?): known are db, dial_timeout`,
		"redis://h?password=s3cr3t":               `the unknown option "password": known are`,
		"redis://h?db=2":                          "as in redis://h:6379/2",
		"redis://h?pool_size=0":                   `pool_size="0": use 1 to`,
		"redis://h?pool_size=x":                   `pool_size="x": use 1 to`,
		"redis://h?pool_size=100000":              `pool_size="100000"`,
		"redis://h?pool_size=1&pool_size=2":       "pool_size 2 times: keep one",
		"redis://h?read_timeout=3":                `read_timeout="3": use a duration such as`,
		"redis://h?read_timeout=0s":               `read_timeout="0s": use a duration above zero`,
		"redis://h?dial_timeout=-1s":              `dial_timeout="-1s": use a duration above zero`,
		"redis://h?idle_timeout=-1s":              `idle_timeout="-1s"`,
		"redis://h?a=%zz":                         "a query that is not key=value",
		"redis://h?a;b":                           "a query that is not key=value",
		"redis://h?tls_ca=/x":                     "TLS needs rediss://",
		"rediss://h?tls_ca=/no/such/file":         `tls_ca="/no/such/file", which cannot be read`,
		"rediss://h?tls_ca=" + empty:              "which has no certificate",
		"rediss://h?tls_cert=/x":                  "only one of tls_cert and tls_key",
		"rediss://h?tls_cert=/no&tls_key=/no":     `tls_cert="/no" and tls_key="/no", which cannot be used`,
		"rediss://h?tls_insecure_skip_verify=yes": `tls_insecure_skip_verify="yes": use true or false`,
		"unix://run/redis.sock":                   "three slashes",
		"unix://":                                 "three slashes",
		"unix:///x?db=one":                        `the db "one"`,
	} {
		t.Run(dsn, func(t *testing.T) {
			t.Parallel()
			d, err := Open(dsn)
			require.Error(t, err)
			assert.Nil(t, d)
			assert.ErrorContains(t, err, words)
			for _, part := range []string{"s3cr3t", "cr3t", "s3"} {
				if strings.Contains(dsn, "cr3t") {
					assert.NotContains(t, err.Error(), part)
				}
			}
		})
	}
}

// A port is no secret, and without it one cannot tell which of two servers is meant.
func TestADSNThatIsRefusedHasItsPort(t *testing.T) {
	t.Parallel()
	for dsn, shown := range map[string]string{
		"redis://localhost:6379?pool_sise=3":      "redis://localhost:6379?...",
		"redis://localhost:6379/one":              "redis://localhost:6379/one",
		"redis://[::1]:7000?pool_sise=3":          "redis://[::1]:7000?...",
		"redis://u:s3cr3t@h:6379?x=1":             "redis://***@h:6379?...",
		"redis+sentinel://a:1,b:2/shop?db=x":      "redis+sentinel://a:1,b:2/shop?...",
		"redis+sentinel://a:1,b:s3cr3t/shop?db=x": "redis+sentinel://a:1,b:***",
		"redis://:s3cr3t":                         "redis://:***",
		"redis://:4711/s3cr3t":                    "redis://:***",
		"redis://user:s3cr3t":                     "redis://user:***",
		"redis://user:123456789":                  "redis://user:***",
		"redis://[::1]:s3cr3t":                    "redis://[::1]:***",
		"redis://localhost:?x=1":                  "redis://localhost:?...",
		"unix:///run/a:b.sock?x=1":                "unix:///run/a:b.sock?...",
	} {
		t.Run(dsn, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, shown, redactDSN(dsn))
		})
	}
}

func TestMemoryWithoutItsImportIsExplained(t *testing.T) {
	t.Parallel()
	known := []string{"redis", "rediss", "unix"}
	require.ErrorContains(t, checkScheme("memory", known), `import _ "github.com/265d0351/work/embedded"`)
	require.NoError(t, checkScheme("memory", append(known, "memory")))
}

func TestRegisteredSchemeOpens(t *testing.T) {
	t.Parallel()
	seen := errors.New("seen")
	RegisterScheme("own", func(u *url.URL) (Driver, error) {
		assert.Equal(t, "there", u.Host)
		return nil, seen
	})
	_, err := Open("own://there/3?x=y")
	require.ErrorIs(t, err, seen)
	_, err = Open("owm://there")
	require.ErrorContains(t, err, "did you mean own?")
}

func TestErrorCode(t *testing.T) {
	t.Parallel()
	for line, code := range map[string]string{
		"WRONGTYPE Operation against": "WRONGTYPE",
		"OOM":                         "OOM",
		"ERR Error running script (call to f_ab): @user_script:1: @user_script: 1: -OOM command not allowed": "OOM",
		"ERR Error running script (call to f_ab): @user_script:1: attempt to index":                          "ERR",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			err := ParseServerError(line)
			assert.Equal(t, code, err.Code)
			assert.Equal(t, line, err.Error())
		})
	}
}
