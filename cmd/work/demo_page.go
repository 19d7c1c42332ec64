package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/265d0351/work"
	"github.com/265d0351/work/webui"
)

// demoPage is the dashboard of a demo. A nil one is none.
type demoPage struct {
	inspector *work.Inspector
	served    *dashboard
}

// openPage serves the dashboard on a free port of this machine and says where, unless nobody is to be told.
func (d *demo) openPage(ctx context.Context, dsn string) (*demoPage, error) {
	if d.console.quiet || !d.page {
		return nil, nil
	}
	inspector, err := work.NewInspector(dsn, work.Namespace(d.namespace))
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the dashboard cannot be served: %w", err), inspector.Close())
	}
	authorize, token, err := freshToken()
	if err != nil {
		return nil, errors.Join(err, listener.Close(), inspector.Close())
	}
	p := &demoPage{inspector, serveDashboard(listener, inspector,
		webui.Options{Title: "demo", Authorize: authorize, Logger: d.logger})}
	until := "while this runs"
	if d.stay {
		until = "until Ctrl-C"
	}
	fmt.Fprintf(d.console.err, "%s: the dashboard is at %s %s\n", d.console.command, withToken(p.served.address, token),
		until)
	return p, nil
}

// wait keeps it open for who wants to look at what was done.
func (p *demoPage) wait(ctx context.Context) error {
	if p == nil {
		return nil
	}
	return p.served.wait(ctx)
}

func (p *demoPage) close(hurry context.Context) error {
	if p == nil {
		return nil
	}
	return errors.Join(p.served.close(hurry), p.inspector.Close())
}
