package rdb_test

import (
	"crypto/sha1"
	"fmt"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
)

// rateWalk is what the prelude of the scripts says of a rate, at times and for rates that the test chooses: it has a
// clock and a key of its own instead of those of Redis. For each rate it begins with nothing used, has all begin that
// may, and looks just before and just when the next one may; that several times, each time a little later.
const rateWalk = `
local clock, kept, rule = 0, false, ''
local redis = { call = function(command, key, value)
  if command == 'TIME' then
    return { string.format('%%.0f', math.floor(clock / 1e6)), string.format('%%.0f', clock %% 1e6) }
  end
  if command == 'GET' then return kept end
  if command == 'SET' then kept = value return end
  if command == 'HMGET' then return { false, rule } end
  return command == 'HGET' and rule or command == 'HLEN' and 1 or 0
end }
redis.pcall = redis.call
%s
local answer = {}
for i = 2, #ARGV do
  clock, kept, rule = tonumber(ARGV[1]), false, ARGV[i]
  for round = 1, 3 do
    local n = room('limits', 'a', 'running', 'rate')
    if n > 0 then spend('limits', 'a', 'rate', n) end
    local none, wait = room('limits', 'a', 'running', 'rate')
    clock = clock + (wait or 0) - 1
    local early = room('limits', 'a', 'running', 'rate')
    clock = clock + 1
    local now = room('limits', 'a', 'running', 'rate')
    clock = clock + 7 * round
    for _, number in ipairs({ n, none, wait or -1, early, now }) do answer[#answer + 1] = number end
    answer[#answer + 1] = kept
  end
end
return answer`

// exactRate is a rate as arithmetic without rounding has it, and as Redis keeps it: in whole ns, rounded up.
type exactRate struct {
	jobs, per, burst int64 // per in ns
	ideal            *big.Rat
	kept             *big.Int // both until when what was used is owed, ns
}

func (r *exactRate) begin(now *big.Int, n int64) {
	cost := big.NewRat(n*r.per, r.jobs)
	if at := new(big.Rat).SetInt(now); r.ideal.Cmp(at) < 0 {
		r.ideal.Set(at)
	}
	if r.kept.Cmp(now) < 0 {
		r.kept.Set(now)
	}
	r.ideal.Add(r.ideal, cost)
	r.kept.Add(r.kept, roundUp(cost))
}

func roundUp(r *big.Rat) *big.Int {
	whole := new(big.Int).Add(r.Num(), new(big.Int).Sub(r.Denom(), big.NewInt(1)))
	return whole.Div(whole, r.Denom())
}

// room is how many may begin at a time, by one of the two.
func (r *exactRate) room(until *big.Rat, now *big.Int) int64 {
	owed := new(big.Rat).Sub(until, new(big.Rat).SetInt(now))
	if owed.Sign() <= 0 {
		return r.burst
	}
	return r.burst - roundUp(owed.Mul(owed, big.NewRat(r.jobs, r.per))).Int64()
}

// moments are times of Redis' clock, in us: of these years, at and between whole ms.
var moments = []int64{
	1_700_000_000_000_000, 1_763_817_366_123_457, 1_763_817_366_999_999, 1_779_999_999_999_001, 1_800_000_000_000_500,
	1_800_000_000_123_456, 1_850_123_456_789_012, 1_893_456_000_000_001, 2_000_000_000_000_333, 2_524_608_000_000_999,
}

// TestEveryRateLetsBeginWhatExactArithmeticLets tries each rate at one of the moments, with WORK_RATES_LONG at all of
// them. The embedded Redis has the same numbers and is slow: it tries some of the rates.
func TestEveryRateLetsBeginWhatExactArithmeticLets(t *testing.T) {
	t.Parallel()
	prelude, err := os.ReadFile("../../lua/prelude.lua")
	require.NoError(t, err)
	source := fmt.Sprintf(rateWalk, prelude)
	script := &redisconn.Script{Name: "walk", Source: source, SHA: fmt.Sprintf("%x", sha1.Sum([]byte(source)))}
	var rates []exactRate
	for _, of := range []struct{ rates, per, whole int64 }{{1000, int64(time.Second), 10},
		{6000, int64(time.Minute), 600}} {
		for jobs := int64(1); jobs <= of.rates; jobs++ {
			rates = append(rates, exactRate{jobs: jobs, per: of.per, burst: 1})
			if whole := jobs / of.whole; whole > 1 && jobs%7 == 0 { // what a rate gives in 100 ms, as is the default
				rates = append(rates, exactRate{jobs: jobs, per: of.per, burst: whole})
			}
		}
	}
	onEach(t, func(t *testing.T, s *site) {
		for n, moment := range moments {
			for from := 0; from < len(rates); from += 100 {
				nth := from / 100
				if os.Getenv("WORK_RATES_LONG") == "" && (nth%len(moments) != n || s.clock != nil && nth%6 != 0) {
					continue
				}
				some := rates[from:min(from+100, len(rates))]
				args := []any{moment}
				for _, r := range some {
					args = append(args, fmt.Sprintf("0 - %d %d %d code - - -", r.jobs, r.per/1e6, r.burst))
				}
				value, err := redisconn.Do(t.Context(), s.driver, redisconn.Call{Script: script, Args: args})
				require.NoError(t, err)
				answer := value.([]any)
				for i, r := range some {
					r.follow(t, moment, answer[18*i:18*i+18])
				}
			}
		}
	})
}

// follow compares what a walk told with what is right.
func (r exactRate) follow(t *testing.T, moment int64, told []any) {
	r.ideal, r.kept = new(big.Rat), new(big.Int)
	now := big.NewInt(moment * 1000)
	ns := func(micros int64) *big.Int { return big.NewInt(micros * 1000) }
	for round := range int64(3) {
		step, what := told[6*round:6*round+6], fmt.Sprintf("%d in %s with a burst of %d, at %d, round %d", r.jobs,
			time.Duration(r.per), r.burst, moment, round)
		got := func(i int) int64 { return step[i].(int64) }
		want := func() int64 { return max(0, r.room(new(big.Rat).SetInt(r.kept), now)) }
		if n := want(); n != got(0) || n < 1 {
			require.Failf(t, "room", "%s: %d may begin, and %d are let", what, n, got(0))
		}
		r.begin(now, got(0))
		require.LessOrEqual(t, r.room(r.ideal, now), r.burst, what)
		require.GreaterOrEqual(t, r.room(r.ideal, now), int64(0), "%s: never above", what)
		late := new(big.Rat).Sub(new(big.Rat).SetInt(r.kept), r.ideal)
		if late.Sign() < 0 || late.Cmp(big.NewRat(3, 1)) > 0 {
			require.Failf(t, "rounding", "%s: what is kept is off by %s ns", what, late.FloatString(3))
		}
		if at := strings.Replace(text(step[5]), ".", "", 1); at != r.kept.String() {
			require.Failf(t, "kept", "%s: it is %s and should be %s", what, at, r.kept)
		}
		if got(1) != 0 || got(2) < 1 || got(3) != 0 || got(4) != 1 {
			require.Failf(t, "wait", "%s: none, the wait, just before, and then: %v", what, step[1:5])
		}
		now.Add(now, ns(got(2)))
		require.Equal(t, want(), got(4), "%s %v %s %s", what, step[:5], now, r.kept)
		now.Add(now, ns(7*(round+1)))
	}
}
