package redisconn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestAMaskDoesNotTellThePassword: it hides the password where that stands as one, and leaves words that have it in
// them, or are it.
func TestAMaskDoesNotTellThePassword(t *testing.T) {
	t.Parallel()
	const refused = "dial tcp 127.0.0.1:6379: connect: connection refused"
	for name, row := range map[string]struct{ password, text, want string }{
		"a letter":           {"c", refused, refused},
		"a part of a word":   {"nect", refused, refused},
		"a word":             {"connection", refused, refused},
		"a number":           {"6379", refused, refused},
		"a part of a number": {"127", refused, refused},
		"a part of an id":    {"a1b2c3", "client xa1b2c3 and a1b2c3d", "client xa1b2c3 and a1b2c3d"},
		"quoted":             {"c", "ERR no user 'c' here", "ERR no user '***' here"},
		"quoted otherwise":   {"on", "ERR `on` is `wrong`, \"on\" too", "ERR `***` is `wrong`, \"***\" too"},
		"an argument": {"pw", "ERR unknown command 'AUTH', with args beginning with: 'pw' ",
			"ERR unknown command 'AUTH', with args beginning with: ***"},
		"an argument cut": {"s3cr3t-long", "ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `s3cr",
			"ERR unknown command `HELLO`, with args beginning with: ***"},
		"in a URL":             {"", `parse "redis://me:hush@host": no`, `parse "redis://***@host": no`},
		"alone":                {"s3cr3t", "400 Bad Request s3cr3t", "400 Bad Request ***"},
		"alone, twice":         {"s3cr3t", "s3cr3t, (s3cr3t)", "***, (***)"},
		"a phrase":             {"correct horse", "got correct horse.", "got ***."},
		"nothing to be hidden": {"", refused, refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, Masked(row.password, row.text))
		})
	}
}
