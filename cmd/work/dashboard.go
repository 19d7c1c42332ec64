package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/webui"
)

// dashboard is the web page of a namespace while somebody serves it.
type dashboard struct {
	address string // where browsers find it
	server  *http.Server
	end     context.CancelFunc // of its streams, which would otherwise go on for ten minutes
	ended   chan error
}

// serveDashboard answers on the listener, which it closes in the end.
func serveDashboard(listener net.Listener, inspector *work.Inspector, opts webui.Options) *dashboard {
	ctx, end := context.WithCancel(context.Background())
	d := &dashboard{address: "http://" + listener.Addr().String() + "/", end: end, ended: make(chan error, 1)}
	d.server = &http.Server{
		Handler:           webui.Handler(inspector, opts),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       time.Minute,
		ErrorLog:          slog.NewLogLogger(opts.Logger.Handler(), slog.LevelWarn),
	}
	go func() { d.ended <- d.server.Serve(listener) }()
	return d
}

// wait serves until ctx ends, which is how a person ends it.
func (d *dashboard) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-d.ended:
		d.ended <- http.ErrServerClosed // for close
		return fmt.Errorf("the dashboard cannot be served any more: %w", err)
	}
}

// dashboardPatience is how long answers that are under way may take when it is closed.
const dashboardPatience = 5 * time.Second

// close lets answers end that are under way, unless hurry ends first.
func (d *dashboard) close(hurry context.Context) error {
	d.end()
	ctx, cancel := context.WithTimeout(hurry, dashboardPatience)
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

// isLoopback tells whether only this machine can connect to an address. What a name means may change, so but for
// localhost names do not count.
func isLoopback(address string) (bool, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false, usagef("--listen is %q: give host and port, as 127.0.0.1:7788", address)
	}
	if host == "localhost" {
		return true, nil
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback(), nil
}
