package rdb

import "cmp"

// appendDetails adds the details of those that have some, and the keys for them.
func (k *keys) appendDetails(keys []string, args []any, ended []Ended, place []int) ([]string, []any) {
	type shelf struct{ state, name string }
	var at map[shelf]int // in KEYS, the first is 1
	for i := range ended {
		if ended[i].Details == nil || ended[i].Keep <= 0 {
			continue
		}
		of := shelf{ended[i].State, cmp.Or(ended[i].Name, ended[i].Queue)}
		if at == nil {
			at = map[shelf]int{}
		}
		if at[of] == 0 {
			ids, details := k.ended(of.state, of.name)
			keys = append(keys, ids, details)
			at[of] = len(keys) - 1
		}
		args = append(args, -place[i], at[of], ended[i].Details)
	}
	return keys, args
}
