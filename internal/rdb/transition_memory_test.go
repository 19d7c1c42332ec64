package rdb_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// A Redis that is full refuses what is enqueued and nothing else: all that drains it goes on.
func TestAFullRedisRefusesEnqueueAndNothingElse(t *testing.T) {
	t.Parallel()
	server := redistest.Dedicated(t, "--maxmemory-policy", "noeviction")
	s := newSite(t, server.DSN(), nil)
	for i, tr := range transitions() {
		t.Run(tr.name, func(t *testing.T) { // one after the other: the memory is that of the whole server
			roomy, full := s.fresh(fmt.Sprintf("roomy-%d", i)), s.fresh(fmt.Sprintf("full-%d", i))
			tr.prepare(t, roomy)
			tr.prepare(t, full)
			want, err := tr.send(roomy, roomy.store)
			require.NoError(t, err)

			server1 := func(command string, args ...any) {
				replies, err := s.driver.Pipeline(t.Context(), redisconn.Call{Command: command, Args: args})
				require.NoError(t, err)
				require.NoError(t, replies[0].Err)
			}
			before := full.dump(t)
			server1("SCRIPT", "FLUSH")                   // a server that was restarted knows no script
			server1("CONFIG", "SET", "maxmemory", "1kb") // an empty one may take less than a megabyte
			defer server1("CONFIG", "SET", "maxmemory", "0")
			replies, err := s.driver.Pipeline(t.Context(), redisconn.Call{Command: "SET", Args: []any{"x", "y"}})
			require.NoError(t, err)
			require.ErrorContains(t, replies[0].Err, "OOM", "it is full")

			got, err := tr.send(full, full.store)
			if tr.isRefusedAtFullMemory() {
				var refused *redisconn.ServerError
				require.ErrorAs(t, err, &refused)
				assert.Equal(t, "OOM", refused.Code)
				assert.Equal(t, before, full.dump(t), "nothing was stored")
				return
			}
			require.NoError(t, err)
			if !tr.timed && tr.script != "job/move_due" {
				assert.Equal(t, want, got)
			}
			assert.Equal(t, keysIn(roomy.dump(t)), keysIn(full.dump(t)))
		})
	}
}

func (tr transition) isRefusedAtFullMemory() bool {
	return strings.HasPrefix(tr.script, "job/enqueue") || tr.script == "schedule/tick" || tr.storing
}

// TestTheContractListsTheScriptsThatStore compares rule 3 of the contract with the transitions that a full Redis
// refuses. Of one script, worker/command, it refuses a plain command that is sent before.
func TestTheContractListsTheScriptsThatStore(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/contributing/redis-contract.md")
	require.NoError(t, err)
	_, rule, found := strings.Cut(string(page), "\n3. ")
	require.True(t, found)
	rule, _, _ = strings.Cut(rule, "\n4. ")
	var listed []string
	for _, name := range regexp.MustCompile("`(\\w+/\\w+)`").FindAllStringSubmatch(rule, -1) {
		listed = append(listed, name[1])
	}

	storing := []string{"worqr/enqueue"} // whose transitions are in worqrdb
	for _, tr := range transitions() {
		if tr.isRefusedAtFullMemory() && tr.script != "worker/command" && !slices.Contains(storing, tr.script) {
			storing = append(storing, tr.script)
		}
	}
	assert.ElementsMatch(t, storing, listed)
}

// keysIn says how many entries each key has.
func keysIn(state redisState) map[string]int {
	sizes := map[string]int{}
	for key, list := range state.lists {
		sizes[key] = len(list)
	}
	for key, content := range state.maps {
		sizes[key] = len(content)
	}
	return sizes
}
