package worqrdb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb/worqrdb"
	"github.com/265d0351/work/internal/redistest"
)

// Redis does not roll back: a script that is refused a command in its middle keeps what it has written. So each
// transition is sent by a user who may not use one of its commands, the command is allowed, and it is sent again. That
// leaves what two sends without a refusal leave.
func TestARefusedCommandLosesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Dedicated(t)
	whole := newSite(t, server.DSN())
	rights := func(rules ...any) {
		whole.raw("ACL", append([]any{"SETUSER", "limited", "on", ">pw", "~*", "&*"}, rules...)...)
	}
	rights("+@all")
	limited := newSite(t, strings.Replace(server.DSN(), "redis://", "redis://limited:pw@", 1))
	for i, tr := range transitions() {
		t.Run(tr.name, func(t *testing.T) { // one after the other: the rights are those of one user
			prepared := func(prefix string) *site {
				s := whole.under(prefix)
				tr.prepare(s)
				return s
			}
			clean := prepared(fmt.Sprint("clean-", i))
			whole.raw("CONFIG", "RESETSTAT")
			first, err := tr.send(clean.store)
			require.NoError(t, err)
			commands := whole.used()
			second, err := tr.send(clean.store)
			require.NoError(t, err)
			for n, command := range commands {
				t.Run(command, func(t *testing.T) {
					s := prepared(fmt.Sprintf("%d-%d", i, n))
					store := worqrdb.New(limited.driver, s.prefix)
					rights("-" + command)
					said, refused := tr.send(store)
					rights("+" + command)
					if refused == nil {
						assert.Equal(t, first, said, "a call that is not refused answers as it would otherwise")
					}
					answer, err := tr.send(store)
					require.NoError(t, err, "after %v", refused)
					assert.Contains(t, []any{first, second}, answer, "after %v", refused)
					assert.Equal(t, clean.state(), s.state(), "after %v", refused)
				})
			}
		})
	}
}

// used are the commands since the statistics were reset, without the ones that send a script.
func (s *site) used() []string {
	var commands []string
	for line := range strings.Lines(text(s.raw("INFO", "commandstats"))) {
		name, _, is := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":")
		if is && !slices.Contains([]string{"eval", "evalsha", "script|load", "config|resetstat"}, name) {
			commands = append(commands, name)
		}
	}
	slices.Sort(commands)
	return commands
}
