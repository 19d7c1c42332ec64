package cli

import (
	"github.com/265d0351/work"
	"github.com/265d0351/work/compress"
	"github.com/265d0351/work/seal"
)

// Codecs are those by which the program opens what is stored: of what is compressed, and of what is sealed by the keys
// in a file, as seal.ReadKeys reads it; "" is none.
func Codecs(keys string) ([]work.Codec, error) {
	codecs := []work.Codec{compress.New(compress.Options{Above: -1})}
	if keys == "" {
		return codecs, nil
	}
	known, err := seal.ReadKeys(keys)
	if err != nil {
		return nil, err
	}
	sealer, err := seal.New(known)
	if err != nil {
		return nil, err
	}
	return append(codecs, sealer), nil
}
