package redistest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/gomodule/redigo/redis"
)

// clustered makes each redis-server, shared or of a test's own, a cluster of one that has all slots, so that a whole
// suite runs on such. Those that a test makes a Sentinel or a member of its own cluster stay what they are.
func (p *Process) clustered() bool {
	return os.Getenv("WORK_TEST_CLUSTER") == "1" && !slices.Contains(p.args, "--sentinel") &&
		!slices.Contains(p.args, "--cluster-enabled")
}

// clusterArgs are those of a cluster of one, whose bus has a port of its own: the usual one may be above all ports.
func (p *Process) clusterArgs() []string {
	return []string{"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(p.bus), "--cluster-announce-ip",
		"127.0.0.1"}
}

// takeSlots gives it all slots, which it keeps when it is started again, and waits until it serves them.
func (p *Process) takeSlots() error {
	conn, err := redis.Dial("tcp", p.Addr())
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Do("CLUSTER", "ADDSLOTSRANGE", 0, 16383); err != nil {
		return err
	}
	err = errors.New("not asked")
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if _, err = conn.Do("EXISTS", "a"); err == nil {
			return nil
		}
		<-time.After(time.Millisecond) // between two looks
	}
	return fmt.Errorf("a cluster of one does not serve its slots: %w", err)
}
