package objects

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAnUploadThatNoSubmitFollowsExpires(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		s := k.open(k.server.DSN(), Options{Grace: time.Minute})
		hash, err := s.Put(t.Context(), []byte("prices"))
		require.NoError(t, err)
		did, err := s.Collect(t.Context())
		require.NoError(t, err)
		assert.Zero(t, did, "it has the grace period")
		k.age(hash)
		did, err = s.Collect(t.Context())
		require.NoError(t, err)
		assert.Equal(t, Collected{Objects: 1, Bytes: 6}, did)
		assert.Empty(t, k.keys())
		_, err = s.Get(t.Context(), hash)
		var vanished *VanishedError
		require.ErrorAs(t, err, &vanished)
	})
}

func TestTheCollectorLeavesWhatIsNeeded(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		prepare func(k *kit, hash Hash)
		want    Collected
	}{
		"used lately": {func(*kit, Hash) {}, Collected{}},
		"of a job":    {func(k *kit, hash Hash) { k.do("HSET", "jobs", "job", "{}"); k.age(hash) }, Collected{}},
		"of an outcome": {func(k *kit, hash Hash) { k.do("HSET", "outcomes", "job", "{}"); k.age(hash) },
			Collected{}},
		"of a job, lately": {func(k *kit, hash Hash) { k.do("HSET", "jobs", "job", "{}") }, Collected{}},
		"of two, one gone": {func(k *kit, hash Hash) {
			k.do("HSET", "jobs", "job", "{}")
			k.do("SADD", refs(hash), "gone")
			k.age(hash)
		}, Collected{References: 1}},
		"of a strange type": {func(k *kit, hash Hash) { k.do("SET", refs(hash), "text"); k.age(hash) }, Collected{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, k *kit) {
				hash := k.put([]byte("prices"))
				if name != "used lately" && name != "of a strange type" {
					require.NoError(t, k.Refer(t.Context(), hash, "job"))
				}
				row.prepare(k, hash)
				assert.Equal(t, row.want, k.collect())
				got, err := k.Get(t.Context(), hash)
				require.NoError(t, err)
				assert.Equal(t, "prices", string(got))
				assert.Zero(t, k.collect())
			})
		})
	}
}

func refs(hash Hash) string { return "object:" + string(hash) + ":jobs" }

func TestReferencesOfJobsThatAreGoneKeepNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		hash := k.put([]byte("prices"))
		var ids []string
		for i := range 1700 { // more than a few parts of the set
			ids = append(ids, fmt.Sprint("gone ", i))
		}
		require.NoError(t, k.Refer(t.Context(), hash, ids...))
		k.do("HSET", "jobs", "gone 1699", "{}")
		k.age(hash)
		assert.Equal(t, Collected{References: 1699}, k.collectAll())
		k.do("HDEL", "jobs", "gone 1699")
		assert.Equal(t, Collected{References: 1, Objects: 1, Bytes: 6}, k.collectAll())
		assert.Empty(t, k.keys())
	})
}

func TestManyObjectsAreCollectedInSteps(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		var kept []Hash
		for i := range 350 {
			hash := k.put([]byte(fmt.Sprint("object ", i)))
			if i%7 == 0 {
				kept = append(kept, hash)
				continue
			}
			k.age(hash)
		}
		collector, steps, sum := k.Collector(), 0, Collected{}
		for done := false; !done; steps++ {
			var did Collected
			var err error
			did, done, err = collector.Step(t.Context())
			require.NoError(t, err)
			assert.LessOrEqual(t, did.Objects, dropObjects)
			sum.add(did)
		}
		sum.add(k.collectAll())
		assert.Equal(t, 300, sum.Objects)
		assert.Greater(t, steps, 3)
		var left []Hash
		for info, err := range k.All(t.Context()) {
			require.NoError(t, err)
			left = append(left, info.Hash)
		}
		assert.ElementsMatch(t, kept, left)
		_, done, err := collector.Step(t.Context())
		require.NoError(t, err)
		assert.False(t, done, "after the end it begins anew")
	})
}

// Between the choice of an object and its removal everything may happen: the script decides.
func TestTheScriptThatRemovesLooksAgain(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		meanwhile func(k *kit, hash Hash) error
		stays     bool
	}{
		"nothing": {func(*kit, Hash) error { return nil }, false},
		"put again": {func(k *kit, hash Hash) error { _, err := k.Put(k.t.Context(), []byte("prices")); return err },
			true},
		"referred to":  {func(k *kit, hash Hash) error { return k.Refer(k.t.Context(), hash, "job") }, true},
		"only in refs": {func(k *kit, hash Hash) error { k.do("SADD", refs(hash), "job"); return nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, k *kit) {
				hash := k.put([]byte("prices"))
				k.age(hash)
				collector := choosing(t, k.Store)
				require.NoError(t, row.meanwhile(k, hash))
				_, _, err := collector.Step(t.Context())
				require.NoError(t, err)
				assert.Equal(t, row.stays, slices.Contains(k.keys(), "object:"+string(hash)))
			})
		})
	}
}
