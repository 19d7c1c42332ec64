package redistest

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
)

// FreePort is a port of an address of this machine on which nobody listens. A server that is started with it may have
// it: systems give those who dial ports above 32767 or 49151, so that no connection takes it before.
func FreePort(addr string) (int, error) {
	for {
		port := 10_000 + rand.N(20_000)
		listener, err := net.Listen("tcp", net.JoinHostPort(addr, strconv.Itoa(port)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return 0, err
		}
		return port, listener.Close()
	}
}
