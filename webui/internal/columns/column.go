// Package columns sorts tables of pages by the columns that people click on.
package columns

import (
	"cmp"
	"strings"
	"time"
)

// Column is a column of a table of T by which its rows can be sorted.
type Column[T any] struct {
	Key, Title string
	hint       string
	number     bool // it stands to the right
	down       bool // the largest, or the newest, come first
	compare    func(a, b *T) int
}

// By is a column with an order of its own.
func By[T any](key, title string, compare func(a, b *T) int) Column[T] {
	return Column[T]{Key: key, Title: title, compare: compare}
}

// Text is a column of words.
func Text[T any, S ~string](key, title string, of func(*T) S) Column[T] {
	return By(key, title, func(a, b *T) int { return strings.Compare(string(of(a)), string(of(b))) })
}

// Time is a column of times, of which the first comes first.
func Time[T any](key, title string, of func(*T) time.Time) Column[T] {
	return By(key, title, func(a, b *T) int { return of(a).Compare(of(b)) })
}

// Number is a column of numbers, of which the largest comes first.
func Number[T any, N cmp.Ordered](key, title string, of func(*T) N) Column[T] {
	return By(key, title, func(a, b *T) int { return cmp.Compare(of(a), of(b)) }).Right().Down()
}

// Flag is a column of what is so or not, of which what is so comes first.
func Flag[T any](key, title string, of func(*T) bool) Column[T] {
	return By(key, title, func(a, b *T) int { return FalseFirst(of(a), of(b)) }).Down()
}

// FalseFirst compares what is so or not.
func FalseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// Says is the column with more words about it.
func (c Column[T]) Says(hint string) Column[T] {
	c.hint = hint
	return c
}

// Right is the column as one of numbers.
func (c Column[T]) Right() Column[T] {
	c.number = true
	return c
}

// Left is the column as one of words.
func (c Column[T]) Left() Column[T] {
	c.number = false
	return c
}

// Down is the column with what is last in its order first.
func (c Column[T]) Down() Column[T] {
	c.down = true
	return c
}

// Up is the column with what is first in its order first.
func (c Column[T]) Up() Column[T] {
	c.down = false
	return c
}
