package rawjson

import "encoding/binary"

// Strings of large arguments are looked through eight bytes at a time.

const (
	ones  = 0x0101010101010101 // 1 in each of eight bytes
	highs = 0x8080808080808080
)

// unbroken is how many bytes of b, eight by eight, have neither a quote nor a backslash nor a control character among
// them, and whether some are beyond ASCII.
func unbroken(b []byte) (n int, beyond bool) {
	var seen uint64
	for ; len(b)-n >= 8; n += 8 {
		word := binary.LittleEndian.Uint64(b[n:])
		quote, backslash := word^ones*'"', word^ones*'\\'
		if ((quote-ones)&^quote|(backslash-ones)&^backslash|(word-ones*' ')&^word)&highs != 0 {
			break
		}
		seen |= word
	}
	return n, seen&highs != 0
}
