//go:build docker

package container

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"

	"github.com/265d0351/work/internal/redistest"
)

// The image that scripts/redis-image makes, and the label by which containers of test processes that died are found.
const (
	imageName  = "work-redis"
	imageTag   = "local"
	ownerLabel = "work.redistest.pid"
	redisPort  = "6379/tcp"
)

// Use has redistest start its Redis here. Call it before redistest.Main.
func Use() { redistest.Containers = Start }

// Start starts Redis in Docker, reachable from this machine only, and returns what removes it.
func Start() (addr string, stop func(), err error) {
	pool, err := dockertest.NewPool("")
	if err != nil {
		return "", nil, fmt.Errorf("docker: %w", err)
	}
	if err := pool.Client.Ping(); err != nil {
		return "", nil, fmt.Errorf("no docker engine answers: %w", err)
	}
	if err := ensureImage(pool); err != nil {
		return "", nil, err
	}
	removeOrphans(pool)
	container, err := pool.RunWithOptions(&dockertest.RunOptions{
		Repository: imageName, Tag: imageTag,
		Cmd:    []string{"--save", "", "--protected-mode", "no"},
		Labels: map[string]string{ownerLabel: strconv.Itoa(os.Getpid())},
	}, func(host *docker.HostConfig) {
		host.AutoRemove = true
		host.PublishAllPorts = false
		host.PortBindings = map[docker.Port][]docker.PortBinding{redisPort: {{HostIP: "127.0.0.1", HostPort: ""}}}
	})
	if err != nil {
		return "", nil, fmt.Errorf("docker cannot run %s:%s: %w", imageName, imageTag, err)
	}
	stop = func() {
		pool.Purge(container)                         //lint:ignore errcheck the next run removes what is left
		pool.Client.HTTPClient.CloseIdleConnections() // their goroutines would count as leaks
	}
	addr = net.JoinHostPort("127.0.0.1", container.GetPort(redisPort))
	pool.MaxWait = 20 * time.Second
	if err := pool.Retry(func() error { return ping(addr) }); err != nil {
		stop()
		return "", nil, fmt.Errorf("redis in docker does not answer at %s: %w", addr, err)
	}
	return addr, stop, nil
}

// ensureImage makes the image if it is not there.
func ensureImage(pool *dockertest.Pool) error {
	if _, err := pool.Client.InspectImage(imageName + ":" + imageTag); err == nil {
		return nil
	}
	_, here, _, _ := runtime.Caller(0)
	script := filepath.Join(filepath.Dir(here), "..", "..", "scripts", "redis-image")
	if output, err := exec.Command(script).CombinedOutput(); err != nil {
		return fmt.Errorf("docker has no %s:%s, and scripts/redis-image did not make it: %w: %s", imageName, imageTag,
			err, output)
	}
	return nil
}

// removeOrphans removes the containers of test processes that were killed: nothing else ends those.
func removeOrphans(pool *dockertest.Pool) {
	containers, err := pool.Client.ListContainers(docker.ListContainersOptions{
		Filters: map[string][]string{"label": {ownerLabel}},
	})
	if err != nil {
		return // the run below reports what is wrong with docker
	}
	for _, c := range containers {
		pid, err := strconv.Atoi(c.Labels[ownerLabel])
		if err != nil || syscall.Kill(pid, 0) == nil {
			continue
		}
		//lint:ignore errcheck best effort
		pool.Client.RemoveContainer(docker.RemoveContainerOptions{ID: c.ID, Force: true})
	}
}

func ping(addr string) error {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	defer conn.Close() //lint:ignore errcheck nothing is lost
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 16))
	return err
}
