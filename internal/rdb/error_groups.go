package rdb

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrorGroup is one kind of failure of jobs of one name.
type ErrorGroup struct {
	ErrorCount
	First, Last time.Time
	raw         []byte
}

// ErrorGroups walks over the groups of errors. One that cannot be read has only a Digest.
func (s *Store) ErrorGroups(ctx context.Context, visit func(page []ErrorGroup) error) error {
	return s.Walk(ctx, Key{Name: "errors", Type: "hash"}, func(fields []Field) error {
		page := make([]ErrorGroup, len(fields))
		for i, field := range fields {
			page[i] = parseErrorGroup(field)
		}
		return visit(page)
	})
}

// parseErrorGroup reads "<count> <last> <first>", id, name and message, with NUL between them.
func parseErrorGroup(field Field) ErrorGroup {
	group := ErrorGroup{ErrorCount: ErrorCount{Digest: field.Name}, raw: field.Value}
	parts := bytes.SplitN(field.Value, []byte{0}, 4)
	numbers := strings.Fields(string(parts[0]))
	if len(parts) != 4 || len(numbers) != 3 {
		return group
	}
	var n [3]int64
	for i, text := range numbers {
		var err error
		if n[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			return group
		}
	}
	group.Count, group.Last, group.First = n[0], fromMillis(n[1]), fromMillis(n[2])
	group.Sample, group.Name, group.Message = string(parts[1]), string(parts[2]), string(parts[3])
	return group
}

// CountErrorGroups returns how many groups there are.
func (s *Store) CountErrorGroups(ctx context.Context) (int, error) {
	value, err := Do(ctx, s.driver, Call{Command: "HLEN", Args: []any{s.keys.errors}})
	n, _ := value.(int64)
	return int(n), err
}

// RetireErrorGroups removes groups to which nothing was added since they were read.
func (s *Store) RetireErrorGroups(ctx context.Context, groups []ErrorGroup) (removed int, err error) {
	for lot := range slices.Chunk(groups, maxExamined) {
		args := append(make([]any, 0, 1+2*len(lot)), 0)
		for _, group := range lot {
			args = append(args, group.Digest, group.raw)
		}
		value, err := Do(ctx, s.driver, Call{Script: retireScript, Keys: []string{s.keys.errors}, Args: args})
		if err != nil {
			return removed, err
		}
		n, _ := value.(int64)
		removed += int(n)
	}
	return removed, nil
}

// ForgetErrorGroups removes the groups of these digests, or all where there are none.
func (s *Store) ForgetErrorGroups(ctx context.Context, digests []string) error {
	if len(digests) == 0 {
		_, err := Do(ctx, s.driver, Call{Command: "UNLINK", Args: []any{s.keys.errors}})
		return err
	}
	for lot := range slices.Chunk(digests, MaxBatch) {
		args := []any{s.keys.errors}
		for _, digest := range lot {
			args = append(args, digest)
		}
		if _, err := Do(ctx, s.driver, Call{Command: "HDEL", Args: args}); err != nil {
			return err
		}
	}
	return nil
}
