package doctor

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/objects"
)

func TestDoctorKnowsTheKeysOfObjects(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		w := newWard(t, s)
		store, err := objects.New(w.store, objects.Options{})
		require.NoError(t, err)
		hash, err := store.Put(w.Ctx(), []byte("prices"))
		require.NoError(t, err)
		require.NoError(t, store.Refer(w.Ctx(), hash, "wait1"))
		key := "object:" + string(hash)
		w.Do("SET", key+":upload:token", "pri")
		w.Do("SET", key+":leaving", "mark")
		assert.True(t, w.examine(false).Healthy())
		for _, f := range w.examine(false).Findings {
			assert.NotEqual(t, CheckUnknownKey, f.Check, f.Key)
		}

		for _, part := range []string{"", ":jobs", ":leaving", ":upload:token"} {
			w.Do("UNLINK", key+part)
			w.Do("RPUSH", key+part, "a list")
		}
		w.Do("SET", key+":other", "?")
		w.Do("SET", "object:", "?")
		found := map[string]Check{}
		for _, f := range w.examine(false).Findings {
			if _, name, is := strings.Cut(f.Key, "}:"); is && strings.HasPrefix(name, "object") {
				found[strings.TrimPrefix(name, key)] = f.Check
			}
		}
		assert.Equal(t, map[string]Check{"": CheckKeyType, ":jobs": CheckKeyType, ":leaving": CheckKeyType,
			":upload:token": CheckKeyType, ":other": CheckUnknownKey, "object:": CheckUnknownKey}, found)
	})
}
