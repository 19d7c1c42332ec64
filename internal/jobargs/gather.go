package jobargs

import (
	"fmt"
	"maps"
	"slices"

	"github.com/265d0351/work/internal/rawjson"
	"github.com/265d0351/work/objects"
)

// Missing says which argument could not be had.
type Missing struct {
	Position int          // 0 is the first
	Hash     objects.Hash // as the record has it
	Err      error
	Beyond   bool // the record has no such argument
}

// Gather puts arguments that are objects into the places in which null stands for them. What is a reference of the
// program's stays as it is, and so do args that are no array.
func Gather(args []byte, at map[int]string, get func(objects.Hash) ([]byte, error)) ([]byte, *Missing) {
	pieces, ok := rawjson.Split(nil, args)
	if !ok {
		return args, nil // its handler refuses it
	}
	for _, i := range slices.Sorted(maps.Keys(at)) {
		hash := objects.Hash(at[i])
		if i < 0 || i >= len(pieces) {
			return nil, &Missing{Position: i, Hash: hash, Beyond: true,
				Err: fmt.Errorf("the record has %d arguments", len(pieces))}
		}
		if string(pieces[i]) != "null" {
			continue
		}
		content, err := get(hash)
		if err != nil {
			return nil, &Missing{Position: i, Hash: hash, Err: err}
		}
		pieces[i] = content
	}
	return rawjson.Join(pieces), nil
}
