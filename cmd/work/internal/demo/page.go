package demo

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/dashboard"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui"
)

// page is the dashboard of a demo. A nil one is none.
type page struct {
	inspector *inspect.Inspector
	served    *dashboard.Dashboard
}

// openPage serves the dashboard on a free port of this machine and says where, unless nobody is to be told.
func (d *demo) openPage(ctx context.Context, dsn string) (*page, error) {
	if d.Console.Quiet || !d.Page {
		return nil, nil
	}
	inspector, err := inspect.New(dsn, work.Namespace(d.Namespace))
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the dashboard cannot be served: %w", err), inspector.Close())
	}
	authorize, token, err := dashboard.FreshToken()
	if err != nil {
		return nil, errors.Join(err, listener.Close(), inspector.Close())
	}
	p := &page{inspector, dashboard.Serve(listener,
		webui.Handler(inspector, webui.Options{Title: "demo", Authorize: authorize, Logger: d.Logger}), d.Logger)}
	until := "while this runs"
	if d.Stay {
		until = "until Ctrl-C"
	}
	fmt.Fprintf(d.Console.Err, "%s: the dashboard is at %s %s\n", d.Console.Command,
		dashboard.WithToken(p.served.Address, token),
		until)
	return p, nil
}

// wait keeps it open for who wants to look at what was done.
func (p *page) wait(ctx context.Context) error {
	if p == nil {
		return nil
	}
	return p.served.Wait(ctx)
}

func (p *page) close(hurry context.Context) error {
	if p == nil {
		return nil
	}
	return errors.Join(p.served.Close(hurry), p.inspector.Close())
}
