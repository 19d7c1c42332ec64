package record

import (
	"cmp"
	"context"
	"encoding/json"
)

// NameIn is the name in a record, also in one that is not as it should be otherwise; "" where there is none.
func NameIn(raw []byte) string {
	name, _ := namesIn(raw)
	return name
}

// QueueIn is the queue in which the job of a record waits: its name, or the queue that this shares with others, with
// what it needs. Also of a record that is not as it should be otherwise; "" where there is no name.
func QueueIn(raw []byte) string {
	_, queue := namesIn(raw)
	return queue
}

func namesIn(raw []byte) (name, queue string) {
	if r, err := Decode(raw); err == nil {
		return r.Name, r.Queue()
	}
	var named struct {
		Name   string `json:"name"`
		Shared string `json:"queue"`
	}
	_ = json.Unmarshal(raw, &named) // then there is none
	return named.Name, cmp.Or(named.Shared, named.Name)
}

// KeyIn is the key in a record, or in the definition of a schedule; "" where there is none.
func KeyIn(raw []byte) string {
	var keyed struct {
		Key string `json:"key"`
	}
	_ = json.Unmarshal(raw, &keyed) // then there is none
	return keyed.Key
}

// Store is where records are.
type Store interface {
	// Record returns nothing where there is none.
	Record(ctx context.Context, id string) ([]byte, error)
}

// QueueOf reads the queue of a job from its record: "" where there is no record, and false where it cannot be read.
func QueueOf(ctx context.Context, store Store, id string) (queue string, readable bool, err error) {
	encoded, err := store.Record(ctx, id)
	if err != nil || encoded == nil {
		return "", true, err
	}
	queue = QueueIn(encoded)
	return queue, queue != "", nil
}
