package rewound_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/rewound"
)

func TestWhatWasFetchedAndEndedLaterIsForgotten(t *testing.T) {
	t.Parallel()
	var b rewound.Book
	for number, outcomes := range map[int64]int{3: 1, 5: 2, 9: 4, 5000: 8} {
		for range outcomes {
			b.Ended(number)
		}
	}
	b.FellBack(5, 7)
	_, told := b.Tell()
	assert.False(t, told, "before it is mended")
	from, is := b.ToMend()
	assert.True(t, is)
	assert.EqualValues(t, 5, from)
	b.FellBack(5, 6)
	b.Mended(5, rewound.Mend{Restored: 1, Reclaimed: 2, Left: true})
	_, told = b.Tell()
	assert.False(t, told, "some is left")
	luck := errors.New("no luck")
	b.Mended(5, rewound.Mend{Restored: 1, Err: luck})
	_, is = b.ToMend()
	assert.False(t, is)
	loss, told := b.Tell()
	assert.True(t, told)
	assert.Equal(t, rewound.Loss{Held: 7, Restored: 2, Reclaimed: 2, Outcomes: 12, Err: luck}, loss)
	_, told = b.Tell()
	assert.False(t, told, "once")
}

func TestAnOlderLossIsMendedAsWell(t *testing.T) {
	t.Parallel()
	var b rewound.Book
	b.FellBack(5, 1)
	b.FellBack(8, 1)
	from, _ := b.ToMend()
	assert.EqualValues(t, 5, from)
	b.FellBack(2, 1)
	b.Mended(5, rewound.Mend{Restored: 1})
	from, is := b.ToMend()
	assert.True(t, is, "since then it fell back further")
	assert.EqualValues(t, 2, from)
	b.Mended(2, rewound.Mend{Restored: 1})
	loss, _ := b.Tell()
	assert.Equal(t, 1, loss.Restored, "the same one, again")
}

func TestClaimsOfAFetchThatWasAnsweredWereForgotten(t *testing.T) {
	t.Parallel()
	var b rewound.Book
	assert.True(t, b.Answered(1))
	for number := int64(1); number <= 2000; number += 2 {
		b.Unanswered(number)
	}
	assert.True(t, b.Answered(1990))
	assert.False(t, b.Answered(1991))
	for number := int64(3001); number <= 3100; number++ {
		b.Unanswered(number)
	}
	assert.False(t, b.Answered(2), "so old that it is not known any more")
	assert.True(t, b.Answered(1990))
	assert.False(t, b.Returned(0, 3), "nothing")
	assert.True(t, b.Returned(2, 3), "the first sign")
	assert.False(t, b.Returned(1, 1))
	loss, told := b.Tell()
	assert.True(t, told)
	assert.Equal(t, rewound.Loss{Held: 3, Outcomes: 3}, loss)
}

func TestAFallIsCountedOnce(t *testing.T) {
	t.Parallel()
	var b rewound.Book
	falls := func(known int64) int64 {
		b.FellBack(known, 1)
		return b.Falls()
	}
	assert.EqualValues(t, 1, falls(5))
	assert.EqualValues(t, 1, falls(5), "each answer says so")
	assert.EqualValues(t, 2, falls(4), "further back")
	b.Restored()
	assert.EqualValues(t, 3, falls(4), "what was stored again is forgotten")
	assert.EqualValues(t, 3, falls(4))
	b.Mended(4, rewound.Mend{Restored: 1})
	assert.EqualValues(t, 4, falls(9))
	b.LostAll()
	assert.EqualValues(t, 5, b.Falls())
}

func TestAFallAndWhatIsStoredAgainAreTurns(t *testing.T) {
	t.Parallel()
	var b rewound.Book
	b.FellBack(5, 1)
	fell, mending := b.Turn()
	assert.True(t, mending)
	b.FellBack(5, 1)
	again, _ := b.Turn()
	assert.Equal(t, fell, again, "the same fall")
	b.Restored()
	b.Mended(5, rewound.Mend{Restored: 1})
	restored, mending := b.Turn()
	assert.False(t, mending)
	assert.Greater(t, restored, fell)
	b.LostAll()
	lost, _ := b.Turn()
	assert.Greater(t, lost, restored)
}
