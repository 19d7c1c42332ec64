package subscription_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/subscription"
)

func TestAQuota(t *testing.T) {
	t.Parallel()
	assert.Nil(t, subscription.NewQuota(0))
	q := subscription.NewQuota(3)
	assert.Equal(t, 3, q.Most())
	assert.Equal(t, 2, q.Reserve(2))
	assert.Equal(t, 1, q.Reserve(2))
	assert.False(t, q.HasRoom())
	assert.False(t, q.GiveBack(1), "nobody was refused")
	assert.Equal(t, 1, q.Reserve(5))
	assert.Zero(t, q.Reserve(1))
	assert.False(t, q.GiveBack(0))
	assert.True(t, q.GiveBack(1))
	assert.False(t, q.GiveBack(1), "it was told already")
	assert.Equal(t, 2, q.Reserve(9))
	assert.False(t, q.Wanted())
	assert.True(t, q.GiveBack(1), "whoever found no room hears of it")
	assert.True(t, q.Wanted())
}

func TestQuotasAreDescribed(t *testing.T) {
	t.Parallel()
	assert.Empty(t, subscription.Describe(map[string]*subscription.Quota{"a": nil}))
	assert.JSONEq(t, `{"b":2}`,
		subscription.Describe(map[string]*subscription.Quota{"a": nil, "b": subscription.NewQuota(2)}))
}
