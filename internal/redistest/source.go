package redistest

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// Containers starts a Redis in a container. It is nil but in test packages of the module integration, so that nothing
// else needs what speaks to Docker.
var Containers func() (addr string, stop func(), err error)

var errNoContainers = errors.New("containers are used by the tests of the module integration only")

func startContainer() (addr string, stop func(), err error) {
	if Containers == nil {
		return "", nil, errNoContainers
	}
	return Containers()
}

// startShared finds or starts the real Redis of this test process.
func startShared() (addr string, stop func(), err error) {
	forced := os.Getenv("WORK_TEST_REDIS")
	switch forced {
	case "embedded":
		return "", nil, fmt.Errorf("WORK_TEST_REDIS=embedded")
	case "server":
		return startServer()
	case "docker":
		return startContainer()
	case "":
	default:
		return "", nil, fmt.Errorf("WORK_TEST_REDIS=%q: use docker, server or embedded", forced)
	}
	if given := os.Getenv("WORK_REDIS_ADDR"); given != "" {
		return given, nil, loopback(given)
	}
	// A process starts in milliseconds, a container in a second: every test package pays for it. Who names a server is
	// told why it does not start, instead of being given another one.
	if _, err := program(); err == nil || named() != "" {
		return startServer()
	}
	addr, stop, err = startContainer()
	if err != nil {
		return "", nil, fmt.Errorf("no WORK_REDIS_ADDR, no redis-server on PATH, no container: %w", err)
	}
	return addr, stop, nil
}

// loopback refuses any other address: tests write into what they find there.
func loopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("WORK_REDIS_ADDR=%q is not HOST:PORT: %w", addr, err)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("WORK_REDIS_ADDR=%q is not on loopback: tests only use a Redis of this machine", addr)
}

func startServer() (addr string, stop func(), err error) {
	dir, err := os.MkdirTemp("", "redistest-")
	if err != nil {
		return "", nil, err
	}
	p, err := startProcess(dir, nil)
	if err != nil {
		os.RemoveAll(dir) //lint:ignore errcheck the other error says more
		return "", nil, err
	}
	return p.Addr(), func() {
		p.Close()
		os.RemoveAll(dir) //lint:ignore errcheck a temporary directory
	}, nil
}
