package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"strings"
)

// Migrate makes the tables where they are missing, and changes nothing where they are there. Several programs may do it
// at a time. On MySQL, where a CREATE TABLE commits, an error may leave some tables made: call it again.
func (o *Outbox) Migrate(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("tables of the outbox cannot be made: %w", err)
	}
	defer tx.Rollback() //lint:ignore errcheck it was committed, or the error before counts
	if o.dialect.guard != "" {
		if _, err := tx.ExecContext(ctx, o.dialect.guard); err != nil {
			return fmt.Errorf("tables of the outbox cannot be made: %w", err)
		}
	}
	files, err := fs.Glob(o.dialect.Migrations(), "*.sql")
	if err != nil {
		return err
	}
	for _, file := range files { // sorted by name
		if err := o.migrate(ctx, tx, file); err != nil {
			return fmt.Errorf("tables of the outbox cannot be made, %s: %w", file, err)
		}
	}
	return tx.Commit()
}

func (o *Outbox) migrate(ctx context.Context, tx *sql.Tx, file string) error {
	text, err := fs.ReadFile(o.dialect.Migrations(), file)
	if err != nil {
		return err
	}
	for _, statement := range strings.Split(strings.ReplaceAll(string(text), "work_outbox", o.table), ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
