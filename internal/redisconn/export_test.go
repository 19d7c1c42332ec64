package redisconn

import "time"

// SetProbe makes a driver of Open notice a silent subscription sooner.
func SetProbe(d Driver, every, silence time.Duration) {
	rd := d.(*redigoDriver)
	rd.probeEvery, rd.silence = every, silence
}

// IdleConnections is how many the pool keeps.
func IdleConnections(d Driver) int { return d.(*redigoDriver).pool.IdleCount() }
