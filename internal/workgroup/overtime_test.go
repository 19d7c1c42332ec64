package workgroup_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/workgroup"
)

type lateItem struct {
	mark workgroup.OvertimeMark
	away bool
}

func TestOvertimeListsWhatHoldsAGoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var list workgroup.Overtime[lateItem]
		held := func() (items []*lateItem) {
			for _, late := range list.Held(func(i *lateItem) bool { return i.away }) {
				items = append(items, late.Item)
			}
			return items
		}
		first, second, alarms := &lateItem{}, &lateItem{}, 0
		begun := time.Now()
		list.Add(first, &first.mark, time.Second, func() { alarms++ })
		time.Sleep(time.Second / 2)
		list.Add(second, &second.mark, time.Second, func() { alarms++ })
		list.Add(first, &first.mark, 0, func() { alarms++ })
		assert.Equal(t, []*lateItem{first, second}, held(), "in order, and once")
		assert.Equal(t, begun, list.Held(func(*lateItem) bool { return false })[0].Since)
		first.away = true
		assert.Equal(t, []*lateItem{second}, held())

		list.End(second, &second.mark)
		list.End(second, &second.mark)
		assert.Empty(t, held())
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Equal(t, 1, alarms, "only of the one that has not ended")

		gone := &lateItem{}
		list.End(gone, &gone.mark)
		list.Add(gone, &gone.mark, time.Second, nil)
		assert.Empty(t, held(), "its timer came too late")
	})
}
