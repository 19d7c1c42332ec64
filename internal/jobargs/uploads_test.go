package jobargs_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/jobargs"
	"github.com/265d0351/work/objects"
)

// slow is a store that takes a second for each content.
type slow struct {
	mu   sync.Mutex
	puts int
	fail int // so many of the first
}

func (s *slow) Put(ctx context.Context, content []byte) (objects.Hash, error) {
	s.mu.Lock()
	s.puts++
	failed := s.puts <= s.fail
	s.mu.Unlock()
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case <-time.After(time.Second):
	}
	if failed {
		return "", errSecret
	}
	return objects.Of(content), nil
}

func TestCallersShareAnUploadAndAreSparedTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slow{}
		uploads := jobargs.NewUploads(store)
		var callers sync.WaitGroup
		began := time.Now()
		for range 32 {
			callers.Go(func() { assert.NoError(t, uploads.Ensure(t.Context(), "a", []byte("content"))) })
		}
		callers.Wait()
		assert.Equal(t, time.Second, time.Since(began))
		require.NoError(t, uploads.Ensure(t.Context(), "a", []byte("content")))
		assert.Equal(t, 1, store.puts)
		uploads.Forget("a")
		require.NoError(t, uploads.Ensure(t.Context(), "a", []byte("content")))
		assert.Equal(t, 2, store.puts, "Redis has not found it")
		<-time.After(time.Minute)
		require.NoError(t, uploads.Ensure(t.Context(), "a", []byte("content")))
		assert.Equal(t, 3, store.puts, "nobody knows whether it still is there")
	})
}

func TestAnUploadThatFailsIsMadeByTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slow{fail: 2}
		uploads := jobargs.NewUploads(store)
		errs := make(chan error, 3)
		for range 3 {
			go func() { errs <- uploads.Ensure(t.Context(), "a", []byte("content")) }()
		}
		failed := 0
		for range 3 {
			if err := <-errs; err != nil {
				require.ErrorIs(t, err, errSecret)
				failed++
			}
		}
		assert.Equal(t, 2, failed, "each has the error of its own upload")
	})
}

func TestWhoLeavesAnUploadHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		left := errors.New("the visitor left")
		uploads := jobargs.NewUploads(&slow{})
		ctx, leave := context.WithCancelCause(t.Context())
		first, other := make(chan error, 2), make(chan error, 1)
		go func() { first <- uploads.Ensure(ctx, "a", []byte("content")) }()
		synctest.Wait()
		go func() { first <- uploads.Ensure(ctx, "a", []byte("content")) }()
		go func() { other <- uploads.Ensure(t.Context(), "a", []byte("content")) }()
		synctest.Wait()
		leave(left)
		require.ErrorIs(t, <-first, left)
		require.ErrorIs(t, <-first, left)
		assert.NoError(t, <-other, "it makes one of its own")
	})
}
