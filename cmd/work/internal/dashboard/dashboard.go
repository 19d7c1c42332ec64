// Package dashboard serves the web page of a namespace, for `work ui` and for the demo, with a token that lets its
// reader in.
package dashboard

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/webui"
)

// Dashboard is the web page of a namespace while somebody serves it.
type Dashboard struct {
	Address string // where browsers find it
	server  *http.Server
	end     context.CancelFunc // of its streams, which would otherwise go on for ten minutes
	ended   chan error
}

// maxHeader is how many bytes the head of a request may have.
const maxHeader = 64 << 10

// Serve answers on the listener, which it closes in the end, by what webui makes.
func Serve(listener net.Listener, page http.Handler, logger *slog.Logger) *Dashboard {
	ctx, end := context.WithCancel(context.Background())
	d := &Dashboard{Address: "http://" + listener.Addr().String() + "/", end: end, ended: make(chan error, 1)}
	d.server = &http.Server{
		Handler:           page,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute, // of a request with its body; what is answered may take longer
		MaxHeaderBytes:    maxHeader,
		IdleTimeout:       time.Minute,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	go func() { d.ended <- d.server.Serve(newCrowd(listener)) }()
	return d
}

// Wait serves until ctx ends, which is how a person ends it.
func (d *Dashboard) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-d.ended:
		d.ended <- http.ErrServerClosed // for close
		return fmt.Errorf("the dashboard cannot be served any more: %w", err)
	}
}

// closeTimeout is how long answers that are under way may take when it is closed.
const closeTimeout = 5 * time.Second

// Close lets answers end that are under way, unless hurry ends first.
func (d *Dashboard) Close(hurry context.Context) error {
	d.end()
	ctx, cancel := context.WithTimeout(hurry, closeTimeout)
	defer cancel()
	err := d.server.Shutdown(ctx)
	if err != nil {
		err = d.server.Close()
	}
	if served := <-d.ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// IsLoopback tells whether only this machine can connect to an address. What a name means may change, so but for
// localhost names do not count.
func IsLoopback(address string) (bool, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false, exit.Usagef("--listen is %q: give host and port, as 127.0.0.1:7788", address)
	}
	if host == "localhost" {
		return true, nil
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback(), nil
}

// FreshToken is a secret that nobody has had before, and an authorizer for it.
func FreshToken() (webui.Authorizer, string, error) {
	token := rand.Text()
	authorize, err := webui.TokenAuth(token, webui.RoleOperator)
	return authorize, token, err
}

// WithToken is the address to open, which lets its browser in.
func WithToken(address, token string) string {
	if token == "" {
		return address
	}
	return address + "?token=" + token // of letters and digits
}
