package rdb

import (
	"context"

	"github.com/265d0351/work/internal/redisconn"
)

var pageScript = redisconn.Load("inspect/page")

// ShelfCursor is where the next page of a shelf begins: behind that job, or where it would stand if it has left. The
// zero value is the beginning, oldest or due first.
type ShelfCursor struct {
	Newest bool   // the highest score first
	Score  string // as Redis writes it; "" is the beginning
	ID     string
}

// ShelfPage reads up to n ids of a shelf behind the cursor, in the order of their scores, and moves the cursor behind
// them. It is empty at the end. Jobs may leave and come meanwhile: those that stay where they are come exactly once. It
// costs as much wherever the page is, and however many have the same score.
func (s *Store) ShelfPage(ctx context.Context, shelf Shelf, cursor *ShelfCursor, n int) ([]SeenJob, error) {
	return s.shelfPage(ctx, s.keys.shelf(shelf), shelf, cursor, n)
}

// PageOf is ShelfPage of another sorted set of the namespace, by its name.
func (s *Store) PageOf(ctx context.Context, name string, cursor *ShelfCursor, n int) ([]SeenJob, error) {
	return s.shelfPage(ctx, s.FullName(name), "", cursor, n)
}

func (s *Store) shelfPage(ctx context.Context, key string, shelf Shelf, cursor *ShelfCursor, n int) ([]SeenJob, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{
		Script: pageScript, Keys: []string{key}, Args: []any{n, cursor.Newest, cursor.Score, cursor.ID},
	})
	if err != nil {
		return nil, err
	}
	page, err := parseShelf(shelf, value)
	if err == nil && len(page) > 0 {
		cursor.MoveTo(page[len(page)-1])
	}
	return page, err
}

// MoveTo puts the cursor behind a job of the last page, to go on before the end of it.
func (c *ShelfCursor) MoveTo(entry SeenJob) { c.Score, c.ID = entry.Score, entry.ID }

func parseShelf(shelf Shelf, value any) ([]SeenJob, error) {
	r := redisconn.Read("inspect/page", value)
	var page []SeenJob
	for r.More() {
		entry := SeenJob{JobPlace: JobPlace{ID: r.Text(), Shelf: shelf, Score: r.Text()}}
		entry.At = int64(parseScore(entry.Score))
		page = append(page, entry)
	}
	return page, r.Err()
}
