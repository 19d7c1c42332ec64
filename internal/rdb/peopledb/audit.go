package peopledb

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var auditScript = redisconn.Load("audit/add")

// What is kept of what people have done: so many entries of a partition, for so long.
const (
	MaxAudit  = 10_000
	AuditKept = 90 * 24 * time.Hour
)

// Audited is an entry of who did what.
type Audited struct {
	At   time.Time // by Redis' clock
	ID   string    // random; it orders those of one millisecond
	Text string    // JSON
}

// AddAudit notes it; sent again it stays as it was.
func (p People) AddAudit(ctx context.Context, a Audited) error {
	_, err := redisconn.Do(ctx, p.store.Driver(), redisconn.Call{Script: auditScript, Keys: []string{p.key(auditKey)},
		Args: []any{a.ID + " " + a.Text, MaxAudit, ms(AuditKept)}})
	return err
}

// auditAtOnce is how many entries a reply brings.
const auditAtOnce = 200

// Audit calls visit with entries, the newest first, until it returns false: those before the given one, or all where
// that has no time.
func (p People) Audit(ctx context.Context, before Audited, visit func(Audited) bool) error {
	from, seen := "+inf", 0
	if !before.At.IsZero() {
		from = strconv.FormatInt(before.At.UnixMilli(), 10)
	}
	for {
		value, err := redisconn.Do(ctx, p.store.Driver(), redisconn.Call{Command: "ZRANGE",
			Args: []any{p.key(auditKey), from,
				"-inf", "BYSCORE", "REV", "LIMIT", seen, auditAtOnce, "WITHSCORES"}})
		if err != nil {
			return err
		}
		r := redisconn.NewReader("ZRANGE", value, nil)
		words := r.TextsOf(value)
		for pair := range slices.Chunk(words, 2) {
			at, _ := strconv.ParseFloat(pair[1], 64)
			a := Audited{At: time.UnixMilli(int64(at))}
			a.ID, a.Text, _ = strings.Cut(pair[0], " ")
			if a.At.Equal(before.At) && a.ID >= before.ID {
				continue
			}
			if !visit(a) {
				return nil
			}
		}
		if seen += len(words) / 2; r.Err() != nil || len(words) < 2*auditAtOnce {
			return r.Err()
		}
	}
}
