package rdb

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/265d0351/work/internal/redisconn"
)

var writeMapScript = redisconn.Load("partition/write_map")

// routeCode begins the refusal of those who store by a map that is not the newest.
const routeCode = "ROUTE"

// RouteError says that the partition knows a newer map than its caller, who must read it and go where it says. Nothing
// was executed.
type RouteError struct {
	Version int64 // of the map that it knows

	refusal *redisconn.ServerError
}

func (e *RouteError) Error() string {
	return fmt.Sprintf("the map of the partitions has changed: version %d is in force", e.Version)
}

// Unwrap returns the refusal.
func (e *RouteError) Unwrap() error { return e.refusal }

// routed makes the refusal of a script that the map has changed a *RouteError; other errors stay as they are.
func routed(err error) error {
	var refused *redisconn.ServerError
	if !errors.As(err, &refused) || refused.Code != routeCode {
		return err
	}
	_, version, _ := strings.Cut(refused.Message, " ")
	n, bad := strconv.ParseInt(version, 10, 64)
	if bad != nil {
		return err
	}
	return &RouteError{Version: n, refusal: refused}
}

// ReadMap returns the map of the partitions as it is known here, nil where there is none.
func (s *Store) ReadMap(ctx context.Context) ([]byte, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "GET", Args: []any{s.keys.partitions}})
	if err != nil {
		return nil, err
	}
	text, _ := value.([]byte)
	return text, nil
}

// WriteMap notes a newer map, and returns the version that is known here then. after is the version that it must
// follow, and -1 any lower one. Where another map has followed that version it is a *[RouteError]; the same map, sent
// again, is none.
func (s *Store) WriteMap(ctx context.Context, version int64, text []byte, after int64) (known int64, err error) {
	follows := ""
	if after >= 0 {
		follows = strconv.FormatInt(after, 10)
	}
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Script: writeMapScript,
		Keys: []string{s.keys.lanes, s.keys.partitions}, Args: []any{version, text, follows}})
	if err != nil {
		return 0, routed(err)
	}
	known, is := value.(int64)
	if !is {
		return 0, &redisconn.UnexpectedReplyError{Script: writeMapScript.Name, Reply: value}
	}
	return known, nil
}
