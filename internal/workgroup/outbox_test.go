package workgroup_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/workgroup"
)

func TestAnOutboxLosesNothing(t *testing.T) {
	t.Parallel()
	o := workgroup.NewOutbox(func(i *item) **item { return &i.older })
	const senders, each = 8, 1000
	var sending sync.WaitGroup
	for range senders {
		sending.Go(func() {
			for _, i := range items(each) {
				o.Put(i)
			}
		})
	}
	seen := map[*item]bool{}
	for len(seen) < senders*each {
		<-o.Filled
		for _, i := range o.TakeAll(nil) {
			require.False(t, seen[i], "it came before")
			seen[i] = true
		}
	}
	sending.Wait()
	assert.Empty(t, o.TakeAll(nil))
}

func TestAnOutboxGivesTheNewestFirst(t *testing.T) {
	t.Parallel()
	o := workgroup.NewOutbox(func(i *item) **item { return &i.older })
	all := items(3)
	for _, i := range all[1:] {
		o.Put(i)
	}
	assert.Equal(t, []*item{all[0], all[2], all[1]}, o.TakeAll(all[:1]))
	assert.Nil(t, all[2].older, "nothing keeps the others in memory")
}

func TestAnOutboxTakesManyAtOnce(t *testing.T) {
	t.Parallel()
	o := workgroup.NewOutbox(func(i *item) **item { return &i.older })
	all := items(5)
	o.PutAll(nil)
	assert.Empty(t, o.Filled)
	o.Put(all[0])
	<-o.Filled
	o.PutAll(all[1:4])
	assert.Empty(t, o.Filled, "who takes was woken by the first")
	assert.Equal(t, []*item{all[3], all[2], all[1], all[0]}, o.TakeAll(nil))
	o.PutAll(all[4:])
	<-o.Filled
	assert.Equal(t, []*item{all[4]}, o.TakeAll(nil))
	for _, i := range all {
		assert.Nil(t, i.older)
	}
}
