package rdb

import (
	"context"
	"strconv"
	"strings"

	"github.com/265d0351/work/internal/redisconn"
)

var holdKeysScript = redisconn.Load("partition/hold_keys")

// Leaving is what of keys is on its way to another partition.
type Leaving struct {
	Buckets []int    // of keys
	Names   []string // whose keys all go
}

// text is the rule of "" of that.
func (l Leaving) text() string {
	if len(l.Buckets)+len(l.Names) == 0 {
		return ""
	}
	var text strings.Builder
	for _, bucket := range l.Buckets {
		text.WriteString(" " + strconv.Itoa(bucket))
	}
	text.WriteString(" ")
	for _, name := range l.Names {
		text.WriteString("\x00" + name)
	}
	return text.String() + "\x00"
}

// HoldKeys has no job of these keys get a place of its key here, as they are on their way, and all others again.
func (s *Store) HoldKeys(ctx context.Context, lead Lead, leaving Leaving) error {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Script: holdKeysScript,
		Keys: []string{s.keys.mover, s.keys.keyrules}, Args: []any{lead.Token, millis(lead.Life), leaving.text()}})
	if err == nil && Word(value) == "led" {
		return ErrLed
	}
	return err
}

// KeysLeave tells whether keys are held here as they are on their way.
func (s *Store) KeysLeave(ctx context.Context) (bool, error) {
	value, err := redisconn.Do(ctx, s.driver,
		redisconn.Call{Command: "HEXISTS", Args: []any{s.keys.keyrules, leavingField}})
	return value == int64(1), err
}

// leavingField is the rule of keys that is none.
const leavingField = ""
