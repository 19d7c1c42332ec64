package seal

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"

	"github.com/265d0351/work/internal/unquoted"
)

// keyFile is a file of keys: {"seal": "k2", "keys": {"k1": "base64", "k2": "base64"}, "locks": "base64"}.
type keyFile struct {
	Seal  string            `json:"seal"`
	Keys  map[string]string `json:"keys"`
	Locks string            `json:"locks"`
}

// ReadKeys reads keys from a JSON file, as the commands and the dashboard do:
//
//	{"seal": "k2", "keys": {"k1": "<base64 of 32 bytes>", "k2": "<base64 of 32 bytes>"}, "locks": "<the same>"}
//
// Its errors quote nothing of the file. [New] checks the keys.
func ReadKeys(name string) (Keys, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return Keys{}, fmt.Errorf("the keys cannot be read: %w", err)
	}
	var file keyFile
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		return Keys{}, fmt.Errorf("the file of keys %s is not JSON of the form that seal.ReadKeys reads: %w", name,
			unquoted.Error(err))
	}
	keys := Keys{Seal: file.Seal, Known: make(map[string][]byte, len(file.Keys))}
	for id, key := range file.Keys {
		if keys.Known[id], err = decodeKey(key); err != nil {
			return Keys{}, fmt.Errorf("key %q in %s %w", id, name, err)
		}
	}
	if file.Locks != "" {
		if keys.Locks, err = decodeKey(file.Locks); err != nil {
			return Keys{}, fmt.Errorf("locks in %s %w", name, err)
		}
	}
	return keys, nil
}

func decodeKey(text string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("is not base64: write it with `openssl rand -base64 32`")
	}
	return key, nil
}
