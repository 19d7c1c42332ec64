package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/exit"
)

// PageFlags say which part of a list is printed.
type PageFlags struct {
	limit  int
	cursor string
}

// Register adds the flags to a command. What limit counts is in the usage.
func (f *PageFlags) Register(cmd *cobra.Command, limit string) {
	cmd.Flags().IntVar(&f.limit, "limit", 50, limit+"; 0 is all")
	cmd.Flags().StringVar(&f.cursor, "cursor", "", "go on where a list has ended: the `cursor` that it named")
}

// Validate refuses a limit that cannot be.
func (f *PageFlags) Validate() error {
	if f.limit < 0 {
		return exit.Usagef("--limit is %d: give 1 or more, or 0 for all", f.limit)
	}
	return nil
}

// mostOfPage is how much one call reads.
const mostOfPage = 500

// List prints pages until there are enough. A page prints itself, and returns how many things that were and where the
// next one begins. none is said where there is nothing.
func (f *PageFlags) List(ctx context.Context, c *console.Console, none string,
	page func(cursor string, limit, printed int) (int, string, error)) error {
	printed := 0
	for cursor := f.cursor; ; {
		limit := mostOfPage
		if f.limit > 0 {
			limit = min(mostOfPage, f.limit-printed)
		}
		n, next, err := page(cursor, limit, printed)
		if err != nil {
			return err
		}
		printed += n
		cursor = next
		switch {
		case next == "":
			if printed == 0 {
				c.Note("%s", none)
			}
			return nil
		case f.limit > 0 && printed >= f.limit:
			c.Note("there may be more: go on with --cursor %s", next)
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%w: go on with --cursor %s", context.Cause(ctx), next)
		}
	}
}

// Rows prints a page as a table, with its title if nothing was printed before.
func Rows[T any](c *console.Console, things []T, printed int, table func([]T) *console.Table) error {
	if len(things) == 0 {
		return nil
	}
	return console.ShowAll(c, things, func(c *console.Console) []string {
		lines := table(things).Render(c)
		if printed > 0 {
			lines = lines[1:]
		}
		return lines
	})
}
