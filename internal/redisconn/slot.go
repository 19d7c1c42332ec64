package redisconn

import "strings"

// Slots is how many parts the keys of a cluster have.
const Slots = 16384

// SlotOf is the one of a key in a cluster: by the CRC16 of its [Tag].
func SlotOf(key string) int {
	key = Tag(key)
	crc := uint16(0)
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % Slots
}

// Tag is the part of a key that its slot follows from: what stands between its first brace and the next closing one, or
// all of it.
func Tag(key string) string {
	if _, behind, found := strings.Cut(key, "{"); found {
		if tag, _, closed := strings.Cut(behind, "}"); closed && tag != "" {
			return tag
		}
	}
	return key
}
