package ending

import (
	"context"
	"errors"
	"sync"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/redisconn"
)

// GoOnAway goes on with members that are at home in another partition than their flow, of which either is here. Other
// partitions are asked side by side, and one that cannot be reached is left alone after the first failure: what is to be
// done there comes behind all else that is. Ids of what is here with its flow are passed over.
func GoOnAway(ctx context.Context, store *rdb.Store, ids []string) error {
	flows := flowdb.Of(store)
	stand, err := flows.Stand(ctx, ids...)
	if err != nil {
		return err
	}
	by := map[int][]int{}
	for i, at := range stand {
		switch {
		case at.Lodged:
			by[at.Home] = append(by[at.Home], i)
		case at.Away:
			by[at.At] = append(by[at.At], i)
		}
	}
	var asking sync.WaitGroup
	var mu sync.Mutex
	for _, those := range by {
		asking.Go(func() {
			left, failed := goOnWith(ctx, store, ids, stand, those)
			if len(left) > 0 && ctx.Err() == nil {
				failed = excerpt.Join(failed, flows.PutOff(ctx, left))
			}
			mu.Lock()
			defer mu.Unlock()
			err = excerpt.Join(err, failed)
		})
	}
	asking.Wait()
	return err
}

// goOnWith goes on with those that one partition has to do with. It returns which are left.
func goOnWith(ctx context.Context, store *rdb.Store, ids []string, stand []flowdb.Standing,
	those []int) (left []string, err error) {
	away := false
	for _, i := range those {
		if away {
			left = append(left, ids[i])
			continue
		}
		var failed error
		if stand[i].Lodged {
			failed = finishLodged(ctx, store, ids[i])
		}
		if failed == nil {
			failed = AgreeAway(ctx, store, ids[i], stand[i])
		}
		if failed != nil {
			err, left = excerpt.Join(err, failed), append(left, ids[i])
			refused := new(redisconn.ServerError)
			away = !errors.As(failed, &refused) // it did not answer
		}
	}
	return left, err
}
