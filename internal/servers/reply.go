package servers

import "strconv"

// Replies of CLUSTER SHARDS are lists of names and values. What is not as expected is read as nothing: a server of
// another make may tell less.

func list(reply any) []any {
	l, _ := reply.([]any)
	return l
}

func fields(reply any) map[string]any {
	l := list(reply)
	pairs := make(map[string]any, len(l)/2)
	for i := 0; i+1 < len(l); i += 2 {
		pairs[text(l[i])] = l[i+1]
	}
	return pairs
}

func text(reply any) string {
	switch r := reply.(type) {
	case []byte:
		return string(r)
	case string:
		return r
	}
	return ""
}

func number(reply any) int64 {
	if n, is := reply.(int64); is {
		return n
	}
	n, _ := strconv.ParseInt(text(reply), 10, 64)
	return n
}
