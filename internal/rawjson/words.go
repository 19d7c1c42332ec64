package rawjson

import "encoding/binary"

// Strings of large arguments are looked through many bytes at a time.

const (
	ones  = 0x0101010101010101 // 1 in each of eight bytes
	highs = 0x8080808080808080
)

// unbroken is how many bytes of b, eight by eight, have neither a quote nor a backslash nor a control character among
// them, and whether some are beyond ASCII.
func unbroken(b []byte) (n int, beyond bool) {
	var seen uint64
	for ; len(b)-n >= 32; n += 32 { // four at a time, which a processor looks at side by side
		four := b[n : n+32]
		first, second := binary.LittleEndian.Uint64(four), binary.LittleEndian.Uint64(four[8:])
		third, fourth := binary.LittleEndian.Uint64(four[16:]), binary.LittleEndian.Uint64(four[24:])
		if (breaks(first)|breaks(second)|breaks(third)|breaks(fourth))&highs != 0 {
			break
		}
		seen |= first | second | third | fourth
	}
	for ; len(b)-n >= 8; n += 8 {
		word := binary.LittleEndian.Uint64(b[n:])
		if breaks(word)&highs != 0 {
			break
		}
		seen |= word
	}
	return n, seen&highs != 0
}

// breaks has the highest bit of some byte set where a byte of the word is a quote, a backslash or a control character.
func breaks(word uint64) uint64 {
	quote, backslash := word^ones*'"', word^ones*'\\'
	return (quote-ones)&^quote | (backslash-ones)&^backslash | (word-ones*' ')&^word
}
