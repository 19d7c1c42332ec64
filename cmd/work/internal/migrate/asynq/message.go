package asynq

import (
	"fmt"
	"time"
)

// message is a task as it is stored: the protocol buffer TaskMessage of asynq's documentation.
type message struct {
	Type      string
	Payload   []byte
	ID        string
	Queue     string
	Retry     int
	Retried   int
	Error     string
	Timeout   time.Duration // 0 is none
	Deadline  time.Time     // the zero time is none
	UniqueKey string
	Retention time.Duration
	Group     string
	Headers   map[string]string
	Unknown   bool // it has fields that are not known here
}

// decodeMessage reads a task.
func decodeMessage(raw []byte) (*message, error) {
	m := &message{}
	err := fields(raw, m.set)
	switch {
	case err != nil:
		return nil, fmt.Errorf("its message cannot be read: %w", err)
	case m.ID == "" || m.Type == "":
		return nil, fmt.Errorf("its message has no id or no type: it was not written by asynq 0.18 or newer")
	}
	return m, nil
}

func (m *message) set(f field) error {
	texts := map[uint64]*string{1: &m.Type, 3: &m.ID, 4: &m.Queue, 7: &m.Error, 10: &m.UniqueKey, 14: &m.Group}
	if text := texts[f.id]; text != nil {
		*text = string(f.bytes)
		return nil
	}
	seconds := min(f.number, 1<<33) // 270 years
	switch f.id {
	case 2:
		m.Payload = f.bytes
	case 5:
		m.Retry = int(int32(f.number)) // as it is written
	case 6:
		m.Retried = int(int32(f.number)) // as it is written
	case 8:
		m.Timeout = time.Duration(seconds) * time.Second
	case 9:
		if f.number > 0 {
			m.Deadline = time.Unix(int64(seconds), 0)
		}
	case 12:
		m.Retention = time.Duration(seconds) * time.Second
	case 11, 13: // when it failed last, when it was completed: nothing here goes by these
	case 15:
		return m.header(f.bytes)
	default:
		m.Unknown = true
	}
	return nil
}

// header reads an entry of the map of headers.
func (m *message) header(entry []byte) error {
	var pair [3]string
	err := fields(entry, func(f field) error {
		if f.id == 1 || f.id == 2 {
			pair[f.id] = string(f.bytes)
		}
		return nil
	})
	if m.Headers == nil {
		m.Headers = map[string]string{}
	}
	m.Headers[pair[1]] = pair[2]
	return err
}

// cron is an entry that a running scheduler of asynq has published.
type cron struct {
	Spec, Type string
	Payload    []byte
}

func decodeCron(raw []byte) (c cron, err error) {
	err = fields(raw, func(f field) error {
		switch f.id {
		case 2:
			c.Spec = string(f.bytes)
		case 3:
			c.Type = string(f.bytes)
		case 4:
			c.Payload = f.bytes
		}
		return nil
	})
	return c, err
}
