// Package pgxoutbox lets package outbox use transactions of pgx, and hear of commits by LISTEN.
//
//	_, err := box.Enqueue(ctx, pgxoutbox.Tx(tx), work.Entry{Name: "send_invoice", Args: []any{order}})
//
//	relay, err := box.Relay(stdlib.OpenDBFromPool(pool), enq,
//		outbox.RelayOptions{Listener: pgxoutbox.Listener(pool.Config().ConnConfig)})
//
// pgx is compiled into programs that import this package only.
package pgxoutbox

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/265d0351/work/outbox"
)

// Executor is a pgx.Tx. A *pgxpool.Pool or *pgx.Conn is one as well, with which jobs are committed at once.
type Executor interface {
	Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
}

// Tx is a transaction of pgx, for Enqueue. It is used by whoever may use tx.
func Tx(tx Executor) outbox.Tx { return executor{tx} }

type executor struct{ Executor }

// ExecContext executes one statement.
func (e executor) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	tag, err := e.Exec(ctx, query, args...)
	return driver.RowsAffected(tag.RowsAffected()), err
}

// Listener hears of commits by a connection of its own, made with a copy of the config: not one of a pooler that gives
// each transaction another connection, such as PgBouncer in its transaction mode. Where it cannot hear, the relay
// looks.
func Listener(config *pgx.ConnConfig) outbox.Listener { return listener{config.Copy(), quiet} }

type listener struct {
	config *pgx.ConnConfig
	quiet  time.Duration
}

const closeWithin = time.Second

// quiet is after what time without a message the connection is asked whether it is still there.
const quiet = 30 * time.Second

// Listen is described by outbox.Listener.
func (l listener) Listen(ctx context.Context, channel string, heard func()) error {
	conn, err := pgx.ConnectConfig(ctx, l.config)
	if err != nil {
		return fmt.Errorf("no connection for LISTEN: %w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
		defer cancel()
		_ = conn.Close(ctx) // nothing is lost with it
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return fmt.Errorf("LISTEN %s: %w", channel, err)
	}
	for {
		heard() // first of all, of what was committed before it could hear
		if err := l.wait(ctx, conn); err != nil {
			return fmt.Errorf("the connection of LISTEN %s: %w", channel, err)
		}
	}
}

// wait waits for a message. A connection that a network has lost without a word is found out after a while.
func (l listener) wait(ctx context.Context, conn *pgx.Conn) error {
	for {
		within, cancel := context.WithTimeout(ctx, l.quiet)
		_, err := conn.WaitForNotification(within)
		late := within.Err() != nil
		cancel()
		if err == nil || !late || ctx.Err() != nil {
			return err
		}
		asking, cancel := context.WithTimeout(ctx, l.quiet)
		err = conn.Ping(asking)
		cancel()
		if err != nil {
			return err
		}
	}
}
