package ending

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/redisconn"
)

// GoOnAway goes on with members that are at home in another partition than their flow, of which either is here. Other
// partitions are asked side by side, and one that cannot be reached is left alone after the first failure: what is to
// be done there comes behind all else that is. Ids of what is here with its flow are passed over.
func GoOnAway(ctx context.Context, store *rdb.Store, ids []string) error {
	flows := flowdb.Of(store)
	stand, err := flows.Stand(ctx, ids...)
	if err != nil {
		return err
	}
	type pair struct {
		other  int
		lodged bool
	}
	by := map[pair][]int{}
	for i, at := range stand {
		switch {
		case at.Lodged:
			by[pair{at.Home, true}] = append(by[pair{at.Home, true}], i)
		case at.Away:
			by[pair{at.At, false}] = append(by[pair{at.At, false}], i)
		}
	}
	var asking sync.WaitGroup
	var mu sync.Mutex
	for _, those := range by {
		asking.Go(func() {
			failed := goOnWith(ctx, store, ids, stand, those)
			mu.Lock()
			defer mu.Unlock()
			err = excerpt.Join(err, failed)
		})
	}
	asking.Wait()
	return err
}

// maxAgreeing is how many members agree in one request.
const maxAgreeing = 50

// goOnWith goes on with those that one partition has to do with, and stand alike.
func goOnWith(ctx context.Context, store *rdb.Store, ids []string, stand []flowdb.Standing, those []int) (err error) {
	var left []string
	away := false
	for page := range slices.Chunk(those, maxAgreeing) {
		some := make([]string, len(page))
		for i, at := range page {
			some[i] = ids[at]
		}
		if away {
			left = append(left, some...)
			continue
		}
		failed := agreePage(ctx, store, some, stand[page[0]])
		if failed == nil {
			continue
		}
		err, left = excerpt.Join(err, failed), append(left, some...)
		refused := new(redisconn.ServerError)
		away = !errors.As(failed, &refused) // it did not answer
		if away || len(some) == 1 {
			continue
		}
		for i, at := range page { // one that cannot be helped holds up no other
			_ = agreePage(ctx, store, some[i:i+1], stand[at])
		}
	}
	if len(left) > 0 && ctx.Err() == nil {
		err = excerpt.Join(err, flowdb.Of(store).PutOff(ctx, left))
	}
	return err
}

// agreePage has members agree with their flows that stand alike.
func agreePage(ctx context.Context, store *rdb.Store, ids []string, at flowdb.Standing) error {
	home, there := store, store
	if at.Lodged {
		home = store.Other(at.Home)
	} else {
		there = store.Other(at.At)
	}
	if home == nil || there == nil {
		return fmt.Errorf("member %s: it is not known where the partitions of its flow are", excerpt.Brief(ids[0]))
	}
	return newAgreeing(home, there, at.At, ids).agree(ctx)
}
