package redisconn_test

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/lazyctx"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func TestPasswordUserAndSocket(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "r.sock")
	p := redistest.Dedicated(t, "--unixsocket", socket, "--requirepass", "s3/cr@3t",
		"--user", "me", "on", ">hush", "~*", "&*", "+@all")
	for name, dsn := range map[string]string{
		"password":          "redis://:s3%2Fcr%403t@" + p.Addr() + "/3",
		"user and password": "redis://me:hush@" + p.Addr() + "/3",
		"socket":            "unix://me:hush@" + socket + "?db=3",
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, dsn)
			do(t, d, "PING")
			assert.Contains(t, string(do(t, d, "CLIENT", "INFO").([]byte)), " db=3 ")
		})
	}
	for name, dsn := range map[string]string{
		"WRONGPASS": "redis://me:hash@" + p.Addr(),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, dsn).Pipeline(t.Context(), redisconn.Call{Command: "PING"})
			var unsent *redisconn.DialError
			require.ErrorAs(t, err, &unsent)
			var refused *redisconn.ServerError
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, name, refused.Code)
		})
	}
	replies, err := open(t, p.DSN()).Pipeline(t.Context(), redisconn.Call{Command: "PING"})
	require.NoError(t, err)
	require.ErrorContains(t, replies[0].Err, "NOAUTH")
}

// One restart of Redis costs one failed call, not one per idle connection.
func TestIdleConnectionsAreNotUsedAfterARestart(t *testing.T) {
	t.Parallel()
	p := redistest.Dedicated(t)
	d := open(t, p.DSN())
	fill(t, d, 4)
	require.NoError(t, p.Restart())
	_, err := d.Pipeline(t.Context(), redisconn.Call{Command: "PING"})
	require.Error(t, err)
	dialler := d.(redisconn.Dialler)
	assert.EqualValues(t, 4, dialler.Dialled())
	do(t, d, "PING")
	assert.Equal(t, 1, redisconn.IdleConnections(d))
	assert.EqualValues(t, 5, dialler.Dialled())
}

// A connection to a server that has become a replica is not used again: the next one may reach its successor.
func TestReplicaLosesItsConnections(t *testing.T) {
	t.Parallel()
	p := redistest.Dedicated(t)
	d := open(t, p.DSN())
	fill(t, d, 4)
	conn, err := d.Dial(t.Context())
	require.NoError(t, err)
	defer conn.Close() //lint:ignore errcheck broken below

	do(t, d, "REPLICAOF", "127.0.0.1", "1")
	write := redisconn.Call{Command: "SET", Keys: []string{"k"}, Args: []any{"v"}}
	inside := redisconn.Call{Script: script(t, `return redis.call('SET', KEYS[1], 'v')`), Keys: []string{"k"}}
	for _, call := range []redisconn.Call{write, inside} {
		replies, err := d.Pipeline(t.Context(), call)
		require.NoError(t, err)
		var refused *redisconn.ServerError
		require.ErrorAs(t, replies[0].Err, &refused)
		assert.Equal(t, "READONLY", refused.Code)
	}
	do(t, d, "PING")
	assert.Equal(t, 1, redisconn.IdleConnections(d), "the idle ones are gone too")

	replies, err := conn.Pipeline(t.Context(), write)
	require.NoError(t, err)
	require.Error(t, replies[0].Err)
	_, err = conn.Pipeline(t.Context(), write)
	var unsent *redisconn.DialError
	require.ErrorAs(t, err, &unsent, "its owner dials again")
}

// fill leaves n idle connections in the pool.
func fill(t *testing.T, d redisconn.Driver, n int) {
	t.Helper()
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			_, err := d.Pipeline(t.Context(), redisconn.Call{Command: "BLPOP", Keys: []string{"none"},
				Args: []any{"0.1"}})
			assert.NoError(t, err)
		})
	}
	all.Wait()
	require.Equal(t, n, redisconn.IdleConnections(d))
}

func TestTLS(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		addr, ca := tlsFront(t, s.Addr())
		_, port, err := net.SplitHostPort(addr)
		require.NoError(t, err)
		for name, dsn := range map[string]string{
			"authority":                 "rediss://" + addr + "?tls_ca=" + ca,
			"authority and server name": "rediss://localhost:" + port + "?tls_server_name=example.com&tls_ca=" + ca,
			"not verified":              "rediss://" + addr + "?tls_insecure_skip_verify=true",
		} {
			d := open(t, dsn)
			assert.Equal(t, "PONG", do(t, d, "PING"), name)
			late := redisconn.Call{Command: "BLPOP", Args: []any{name + "-none", "0.05"}, Block: 50 * time.Millisecond}
			bounded := &lazyctx.Bounded{Parent: t.Context(), Until: time.Now().Add(time.Minute),
				Cause: func() error { return nil }}
			replies, err := d.Pipeline(bounded, late)
			require.NoError(t, err, name)
			assert.Equal(t, []redisconn.Reply{{}}, replies, name)
			assert.Equal(t, "PONG", do(t, d, "PING"), name)
		}
		for name, dsn := range map[string]string{
			"unknown authority":        "rediss://" + addr,
			"certificate is valid for": "rediss://" + addr + "?tls_server_name=elsewhere.org&tls_ca=" + ca,
			"cannot connect to Redis":  "rediss://" + s.Addr() + "?dial_timeout=1s",
		} {
			_, err := open(t, dsn).Pipeline(t.Context(), redisconn.Call{Command: "PING"})
			var unsent *redisconn.DialError
			require.ErrorAs(t, err, &unsent, name)
			assert.ErrorContains(t, err, name)
		}
	})
}

// tlsFront puts TLS in front of a Redis, with a certificate for 127.0.0.1 and example.com.
func tlsFront(t *testing.T, target string) (addr, caFile string) {
	t.Helper()
	web := httptest.NewTLSServer(nil)
	certificates := web.TLS.Certificates
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	web.Close()
	caFile = filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(caFile, ca, 0o600))

	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certificates, MinVersion: tls.VersionTLS12})
	require.NoError(t, err)
	var serving sync.WaitGroup
	t.Cleanup(func() {
		l.Close() //lint:ignore errcheck ends accepting
		serving.Wait()
	})
	serving.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			redis, err := net.Dial("tcp", target)
			if err != nil {
				client.Close() //lint:ignore errcheck the client reports it
				continue
			}
			pipe := func(to, from net.Conn) func() {
				return func() {
					io.Copy(to, from) //lint:ignore errcheck ends with either side
					to.Close()        //lint:ignore errcheck as above
				}
			}
			serving.Go(pipe(client, redis))
			serving.Go(pipe(redis, client))
		}
	})
	return l.Addr().String(), caFile
}
