package asynq

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// field is one field of a protocol buffer: a number for varints, else bytes.
type field struct {
	id     uint64
	number uint64
	bytes  []byte
}

var errShort = errors.New("it ends in the middle of a field")

// fields reads a message of protocol buffers field by field, as they stand:
// https://protobuf.dev/programming-guides/encoding.
func fields(message []byte, visit func(field) error) error {
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 {
			return errShort
		}
		message = message[n:]
		f := field{id: tag >> 3}
		var size uint64
		switch tag & 7 {
		case 0: // a varint
			if f.number, n = binary.Uvarint(message); n <= 0 {
				return errShort
			}
			message = message[n:]
		case 1:
			size = 8
		case 2: // bytes behind their length
			if size, n = binary.Uvarint(message); n <= 0 {
				return errShort
			}
			message = message[n:]
		case 5:
			size = 4
		default:
			return fmt.Errorf("its field %d has the form %d, which is none", f.id, tag&7)
		}
		if size > uint64(len(message)) {
			return errShort
		}
		f.bytes, message = message[:size], message[size:]
		if err := visit(f); err != nil {
			return err
		}
	}
	return nil
}
