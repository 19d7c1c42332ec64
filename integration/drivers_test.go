package integration

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"testing"

	goredisclient "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/goredis"
	"github.com/265d0351/work/internal/redisconn"
)

// driverVariable says what stands behind each redis:// of these tests and of their worker processes: nothing is redigo,
// "client" a client of go-redis, and "cluster" one of a cluster. With WORK_TEST_CLUSTER=1 each server is a cluster of
// one besides.
const driverVariable = "WORK_FAULT_DRIVER"

// drivers are the settings in which the faults happen.
var drivers = map[string][]string{
	"client":  {driverVariable + "=client"},
	"cluster": {driverVariable + "=cluster", "WORK_TEST_CLUSTER=1"},
}

func init() {
	as := os.Getenv(driverVariable)
	if as == "" {
		return
	}
	redisconn.RegisterScheme("redis", func(u *url.URL) (redisconn.Driver, error) {
		opt, err := goredisclient.ParseURL(u.String())
		if err != nil {
			return nil, err
		}
		switch as {
		case "client":
			return owned(goredisclient.NewClient(opt))
		case "cluster":
			return owned(goredisclient.NewClusterClient(clusterOf(opt)))
		}
		return nil, fmt.Errorf("%s=%s: use client or cluster", driverVariable, as)
	})
}

// owner closes the client with the driver.
type owner struct {
	redisconn.Driver
	client goredisclient.UniversalClient
}

func owned(client goredisclient.UniversalClient) (redisconn.Driver, error) {
	d, err := goredis.Connection(client).Driver()
	return owner{d, client}, err
}

func (o owner) Close() error {
	if err := o.Driver.Close(); err != nil {
		return err
	}
	if err := o.client.Close(); !errors.Is(err, goredisclient.ErrClosed) {
		return err
	}
	return nil
}

// clusterOf is a cluster of one server at the address of a DSN, which may be a proxy's that the server knows nothing
// of.
func clusterOf(opt *goredisclient.Options) *goredisclient.ClusterOptions {
	return &goredisclient.ClusterOptions{Addrs: []string{opt.Addr}, DialTimeout: opt.DialTimeout,
		ReadTimeout: opt.ReadTimeout, WriteTimeout: opt.WriteTimeout,
		ClusterSlots: func(context.Context) ([]goredisclient.ClusterSlot, error) {
			return []goredisclient.ClusterSlot{{End: 16383, Nodes: []goredisclient.ClusterNode{{Addr: opt.Addr}}}}, nil
		}}
}

// The same faults, with a client of go-redis in place of redigo, on one server and on a cluster. Two of them are quick;
// all of them are for make drivers-long.
func TestDriversFaults(t *testing.T) {
	t.Parallel()
	if os.Getenv(driverVariable) != "" {
		t.Skip("this is the run of one of them")
	}
	run := "^TestFaultNetwork$/^cut$|^TestFaultRedisStalled$"
	if os.Getenv("WORK_DRIVERS_LONG") == "1" {
		run = "^TestFault"
	}
	for name, environment := range drivers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := exec.CommandContext(t.Context(), os.Args[0], "-test.run", run, "-test.timeout", "30m", "-test.v")
			c.Env = append(os.Environ(), environment...)
			out, err := c.CombinedOutput()
			assert.NoError(t, err, "%s", out)
			for _, ran := range []string{"    --- PASS: TestFaultNetwork/cut", "--- PASS: TestFaultRedisStalled"} {
				assert.Contains(t, string(out), ran, "%s", out)
			}
		})
	}
}
