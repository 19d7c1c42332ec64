package human

import (
	"fmt"
	"strconv"
)

// Grouped writes a number with commas.
func Grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Counted is "1 file", "2 files".
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%s %ss", Grouped(int64(n)), noun)
}

// Number is Grouped for an int.
func Number(n int) string { return Grouped(int64(n)) }
