package flowdb

import (
	"context"
	"iter"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// scan calls do with the fields of a hash and their values, page by page, with some perhaps twice. It ends with the
// first error.
func (f Flows) scan(ctx context.Context, key string, do func(page iter.Seq2[string, string]) error) error {
	for cursor := "0"; ; {
		value, err := redisconn.Do(ctx, f.store.Driver(), redisconn.Call{Command: "HSCAN",
			Args: []any{key, cursor, "COUNT", rdb.MaxBatch}})
		if err != nil {
			return err
		}
		r := redisconn.Read("HSCAN", value)
		next, texts := r.Text(), r.Texts()
		if r.Err() != nil {
			return r.Err()
		}
		if err := do(pairs(texts)); err != nil {
			return err
		}
		if cursor = next; cursor == "0" {
			return nil
		}
	}
}

// pairs are texts by twos.
func pairs(texts []string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for i := 0; i+1 < len(texts) && yield(texts[i], texts[i+1]); i += 2 {
		}
	}
}
