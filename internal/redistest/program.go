package redistest

import (
	"fmt"
	"os"
	"os/exec"
)

// named is the server that tests are told to run on: another version than that on PATH, or a Valkey.
func named() string { return os.Getenv("WORK_REDIS_SERVER") }

// program is the path of the server that tests start.
func program() (string, error) {
	if named() == "" {
		path, err := exec.LookPath("redis-server")
		if err != nil {
			return "", fmt.Errorf("redis-server is needed on PATH, or WORK_REDIS_SERVER=/path/to/one: %w", err)
		}
		return path, nil
	}
	path, err := exec.LookPath(named())
	if err != nil {
		return "", fmt.Errorf("WORK_REDIS_SERVER=%q is no program: give the path of a redis-server or "+
			"valkey-server: %w",
			named(), err)
	}
	return path, nil
}
