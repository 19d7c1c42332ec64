package record

import (
	"context"
	"encoding/json"
)

// NameIn is the name in a record, also in one that is not as it should be otherwise; "" where there is none.
func NameIn(raw []byte) string {
	if r, err := Decode(raw); err == nil {
		return r.Name
	}
	var named struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(raw, &named) // then there is none
	return named.Name
}

// Store is where records are.
type Store interface {
	// Record returns nothing where there is none.
	Record(ctx context.Context, id string) ([]byte, error)
}

// NameOf reads the queue of a job from its record: "" where there is no record, and false where it cannot be
// read.
func NameOf(ctx context.Context, store Store, id string) (name string, readable bool, err error) {
	encoded, err := store.Record(ctx, id)
	if err != nil || encoded == nil {
		return "", true, err
	}
	name = NameIn(encoded)
	return name, name != "", nil
}
