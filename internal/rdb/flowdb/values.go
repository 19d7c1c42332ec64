package flowdb

import "strconv"

func withTexts(args []any, texts []string) []any {
	for _, text := range texts {
		args = append(args, text)
	}
	return args
}

// milliseconds is a score as Redis writes it.
func milliseconds(score string) int64 {
	at, err := strconv.ParseFloat(score, 64)
	if err != nil {
		return 0
	}
	return int64(at)
}
