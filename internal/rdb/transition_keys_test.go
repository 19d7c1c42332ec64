package rdb_test

import (
	"bufio"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// keysOf tells which arguments of a command that scripts call are keys or channels: the first, all, or none.
var keysOf = map[string]func(args []string) []string{
	"TIME":   func([]string) []string { return nil },
	"SINTER": func(args []string) []string { return args },
	"UNLINK": func(args []string) []string { return args },
	"":       func(args []string) []string { return args[:1] },
}

// MONITOR shows on a real Redis that a script touches no key that it was not given: on a cluster that would be an
// error.
func TestScriptsTouchOnlyTheKeysThatTheyAreGiven(t *testing.T) {
	t.Parallel()
	server := redistest.Dedicated(t)
	s := newSite(t, server.DSN(), nil)
	scripts := map[string]bool{}
	for i, tr := range transitions() {
		on := s.fresh(fmt.Sprintf("keys-%d", i))
		tr.prepare(t, on)
		lines := monitor(t, server.Addr(), func() {
			_, err := tr.send(on, on.store)
			require.NoError(t, err)
		})
		touched := checkDeclared(t, tr.name, lines)
		if tr.script != "server/rights" { // it asks what it might do, and does nothing
			assert.NotEmpty(t, touched, "%s: MONITOR showed no command inside the script", tr.name)
		}
		scripts[tr.script] = true
	}
	assert.Empty(t, scriptsBut(t, scripts),
		"add these scripts to transitions: then they are also sent twice and at full memory")
}

// fresh is another namespace on the same Redis.
func (s *site) fresh(namespace string) *site {
	return &site{driver: s.driver, store: rdb.NewStore(s.driver, namespace), namespace: namespace, clock: s.clock}
}

// checkDeclared returns the keys that scripts touched.
func checkDeclared(t *testing.T, name string, lines []monitored) []string {
	t.Helper()
	var declared, touched []string
	for _, line := range lines {
		if !line.script {
			if command := strings.ToUpper(line.words[0]); command == "EVALSHA" || command == "EVAL" {
				count, err := strconv.Atoi(line.words[2])
				require.NoError(t, err)
				declared = line.words[3 : 3+count]
			}
			continue
		}
		of := keysOf[strings.ToUpper(line.words[0])]
		if of == nil {
			of = keysOf[""]
		}
		for _, key := range of(line.words[1:]) {
			assert.Contains(t, declared, key, "%s: %v", name, line.words)
			touched = append(touched, key)
		}
	}
	return touched
}

type monitored struct {
	script bool
	words  []string
}

var (
	monitorLine = regexp.MustCompile(`^\+[0-9.]+ \[\d+ ([^\]]+)\] (.*)$`)
	quoted      = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
)

// monitor returns what the server executed during the call.
func monitor(t *testing.T, addr string, during func()) []monitored {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close() // it was read to the end that is wanted
	in := bufio.NewReader(conn)
	say := func(command string) {
		_, err := conn.Write([]byte(command + "\r\n"))
		require.NoError(t, err)
	}
	say("MONITOR")
	ok, err := in.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "+OK\r\n", ok)
	during()
	say("PING the-end")

	var lines []monitored
	for {
		text, err := in.ReadString('\n')
		require.NoError(t, err)
		parts := monitorLine.FindStringSubmatch(strings.TrimRight(text, "\r\n"))
		if parts == nil {
			continue // the answer to PING
		}
		line := monitored{script: parts[1] == "lua"}
		for _, word := range quoted.FindAllString(parts[2], -1) {
			plain, err := strconv.Unquote(word)
			require.NoError(t, err, word)
			line.words = append(line.words, plain)
		}
		if slices.Contains(line.words, "the-end") {
			return lines
		}
		lines = append(lines, line)
	}
}
