package work

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/265d0351/work/internal/rdb"
)

// maxKeyBytes is how long a key may be.
const maxKeyBytes = 200

// Key is on whose behalf the job is done, the id of a customer for instance: 1 to 200 bytes of UTF-8 without control
// characters. The jobs of one name that have keys are not run in the order of their enqueue, but the keys have turns,
// one job each, or as many as [Weight] says. So the first job of a key that comes is next, however many jobs of another
// key wait, and a key that is alone has all turns. Jobs of one key keep their order.
//
// Jobs of the same name without a key have turns together, as one more key. What a worker gives back that stops or dies
// comes first. A retry lines up anew when it is due. [Front] beats the key. What waits by turns costs Redis more time
// and memory than what waits in order. Up to 1,024 names of a namespace may have jobs with keys, and up to 2^43/840
// jobs of a key, about 10^10, have their turns before it is empty once. With several partitions keys have turns in each
// by itself.
func Key(key string) EnqueueOption {
	return func(s *jobSettings) {
		s.turn.Key = key
		switch {
		case key == "":
			s.refuse(&InvalidError{What: "option Key", Value: "empty", Remedy: "use one of one byte or more, or none"})
		case len(key) > maxKeyBytes:
			s.refuse(&InvalidError{What: "option Key", Value: fmt.Sprintf("%d bytes long", len(key)),
				Remedy: fmt.Sprintf("use at most %d, such as a hash of it", maxKeyBytes)})
		case !utf8.ValidString(key) || strings.ContainsFunc(key, unicode.IsControl):
			s.refuse(&InvalidError{What: "option Key", Value: fmt.Sprintf("%.40q", key),
				Remedy: "use UTF-8 without control characters"})
		}
	}
}

// Weight is how many turns the job's [Key] has where others have one: 1, which is the default, to 100. Each job has the
// weight of its own enqueue. It is an error without a Key.
func Weight(n int) EnqueueOption {
	return func(s *jobSettings) {
		s.turn.Weight = n
		if n < 1 || n > rdb.MaxWeight {
			s.refuse(&InvalidError{What: "option Weight", Value: fmt.Sprint(n),
				Remedy: fmt.Sprintf("use 1 to %d", rdb.MaxWeight)})
		}
	}
}
