package objects

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReferencesAreCountedOnceForEachJob(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		hash := k.put([]byte("prices"))
		require.NoError(t, k.Refer(t.Context(), hash, "b", "a"))
		require.NoError(t, k.Refer(t.Context(), hash, "a", "b", "b"), "a submit that is repeated")
		ids, err := k.References(t.Context(), hash)
		require.NoError(t, err)
		assert.Equal(t, []string{"a", "b"}, ids)

		require.NoError(t, k.Unrefer(t.Context(), hash, "a"))
		require.NoError(t, k.Unrefer(t.Context(), hash, "a", "never"))
		ids, err = k.References(t.Context(), hash)
		require.NoError(t, err)
		assert.Equal(t, []string{"b"}, ids)
	})
}

func TestAReferenceIsAUse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		hash := k.put([]byte("prices"))
		k.age(hash)
		require.NoError(t, k.Refer(t.Context(), hash, "job"))
		require.NoError(t, k.Unrefer(t.Context(), hash, "job"))
		assert.Zero(t, k.collect(), "it stays for another grace period")
	})
}

func TestMoreReferencesThanOneScriptTakes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		hash := k.put([]byte("prices"))
		var want []string
		for i := range 1234 {
			want = append(want, fmt.Sprintf("job %04d", i))
		}
		require.NoError(t, k.Refer(t.Context(), hash, want...))
		ids, err := k.References(t.Context(), hash)
		require.NoError(t, err)
		assert.Equal(t, want, ids)
		require.NoError(t, k.Unrefer(t.Context(), hash, want[:1233]...))
		ids, err = k.References(t.Context(), hash)
		require.NoError(t, err)
		assert.Equal(t, []string{"job 1233"}, ids)
	})
}

func TestNobodyRefersToWhatHasVanished(t *testing.T) {
	t.Parallel()
	for name, vanish := range map[string]func(k *kit, hash Hash){
		"collected":           func(k *kit, hash Hash) { k.age(hash); k.collect() },
		"removed by somebody": func(k *kit, hash Hash) { k.do("UNLINK", "object:"+string(hash)) },
		"unknown to Redis":    func(k *kit, hash Hash) { k.do("UNLINK", "objects") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, k *kit) {
				hash := k.put([]byte("prices"))
				vanish(k, hash)
				err := k.Refer(t.Context(), hash, "job")
				var vanished *VanishedError
				require.ErrorAs(t, err, &vanished)
				assert.Equal(t, hash, vanished.Hash)
				assert.False(t, slices.Contains(k.keys(), "object:"+string(hash)+":jobs"))
				k.put([]byte("prices"))
				require.NoError(t, k.Refer(t.Context(), hash, "job"), "put again, it is there")
			})
		})
	}
}

func TestReferencesThatAreRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		hash := k.put([]byte("prices"))
		require.ErrorContains(t, k.Refer(t.Context(), hash, "a", ""), "an id of the 2 jobs")
		var wrong *HashError
		require.ErrorAs(t, k.Refer(t.Context(), "x", "a"), &wrong)
		require.ErrorAs(t, k.Unrefer(t.Context(), "x", "a"), &wrong)
		_, err := k.References(t.Context(), "x")
		require.ErrorAs(t, err, &wrong)
		ids, err := k.References(t.Context(), hash)
		require.NoError(t, err)
		assert.Empty(t, ids)
	})
}
