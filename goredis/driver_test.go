package goredis

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redisconn/drivertest"
)

// ownerOf closes the client with the driver, as whoever made it does.
type ownerOf struct {
	*driver
	client redis.UniversalClient
}

func (o ownerOf) Close() error {
	if err := o.driver.Close(); err != nil {
		return err
	}
	if err := o.client.Close(); err != nil && err != redis.ErrClosed {
		return err
	}
	return nil
}

func owned(client redis.UniversalClient) (redisconn.Driver, error) {
	d, err := Connection(client).Driver()
	if err != nil {
		return nil, err
	}
	return ownerOf{d.(*driver), client}, nil
}

func setProbe(d redisconn.Driver, every, silence time.Duration) {
	o := d.(ownerOf)
	o.probeEvery, o.silence = every, silence
}

// A client as redis.NewClient makes it speaks version 3 of the protocol and sends again what failed.
func TestDriverOnAClient(t *testing.T) {
	t.Parallel()
	for name, protocol := range map[string]int{"protocol 2": 2, "protocol 3": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			drivertest.Test(t, drivertest.Kit{Probe: setProbe, Open: func(dsn string) (redisconn.Driver, error) {
				opt, err := redis.ParseURL(dsn)
				require.NoError(t, err)
				opt.Protocol = protocol
				return owned(redis.NewClient(opt))
			}})
		})
	}
}

// A cluster of which one server has all slots: what a call needs to find it is the same with more of them.
func TestDriverOnAClusterClient(t *testing.T) {
	t.Parallel()
	drivertest.Test(t, drivertest.Kit{Probe: setProbe, Open: func(dsn string) (redisconn.Driver, error) {
		opt, err := redis.ParseURL(dsn)
		require.NoError(t, err)
		return owned(redis.NewClusterClient(clusterOf(opt)))
	}})
}
