package rdb

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// Erase removes these keys, whatever is in them, and returns how many there were. Redis frees their memory in another
// thread.
func (s *Store) Erase(ctx context.Context, keys []Key) (int, error) {
	erased := 0
	for len(keys) > 0 {
		n := min(len(keys), MaxBatch)
		names := make([]any, n)
		for i, key := range keys[:n] {
			names[i] = s.FullName(key.Name)
		}
		value, err := Do(ctx, s.driver, Call{Command: "UNLINK", Args: names})
		if err != nil {
			return erased, err
		}
		count, _ := value.(int64)
		erased += int(count)
		keys = keys[n:]
	}
	return erased, nil
}

// CPU is the processor time that Redis says it has used since it started, 0 where it does not say: the embedded one,
// and managed ones that hide it.
func (s *Store) CPU(ctx context.Context) (time.Duration, error) {
	replies, err := s.driver.Pipeline(ctx, Call{Command: "INFO", Args: []any{"cpu"}})
	if err != nil {
		return 0, err
	}
	said, _ := replies[0].Value.([]byte)
	used := 0.0
	for line := range strings.Lines(string(said)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name != "used_cpu_user" && name != "used_cpu_sys" {
			continue
		}
		if seconds, err := strconv.ParseFloat(value, 64); err == nil {
			used += seconds
		}
	}
	return time.Duration(used * float64(time.Second)), nil
}
