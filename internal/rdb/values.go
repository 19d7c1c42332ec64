package rdb

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

func appendTexts(args []any, texts []string) []any {
	for _, text := range texts {
		args = append(args, text)
	}
	return args
}

// Word is a reply of one string.
func Word(value any) string {
	switch v := value.(type) {
	case []byte:
		return string(v)
	case string:
		return v
	}
	return ""
}

func millis(d time.Duration) int64 {
	return int64((min(d, math.MaxInt64-time.Millisecond) + time.Millisecond - 1) / time.Millisecond)
}

func elementPrefix(number int64) string { return strconv.FormatInt(number, 10) + ":" }

// Number is that of the fetch that made the claim: an element always begins with it.
func (c Claim) Number() int64 {
	number, _, _ := strings.Cut(c.Element, ":")
	return toNumber(number)
}

func parseScore(text string) float64 {
	at, _ := strconv.ParseFloat(text, 64)
	return at
}

// fromMillis turns what Redis calls a time into ours; 0 is no time at all.
func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// parseMoment reads a time of Redis' clock in ms, perhaps with three digits behind the point; what is none is no time.
func parseMoment(text string) time.Time {
	whole, part, _ := strings.Cut(text, ".")
	at := fromMillis(toNumber(whole))
	if len(part) != 3 || at.IsZero() {
		return at
	}
	return at.Add(time.Duration(toNumber(part)) * time.Microsecond)
}

// toNumber reads a number; what is none, or is not there, is 0.
func toNumber(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// someTexts are nil when there are none.
func someTexts(r *redisconn.Reader) []string {
	if list := r.Texts(); len(list) > 0 {
		return list
	}
	return nil
}
