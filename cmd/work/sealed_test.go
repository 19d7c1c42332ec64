package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/clitest"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/compress"
	"github.com/265d0351/work/seal"
)

func TestSealedArgsAreShownWithTheirKeys(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	run := func(args ...string) said {
		return call(append(args, "--redis", dsn, "--namespace", "shop")...)
	}
	file := func(id, of string) string {
		name := filepath.Join(t.TempDir(), "keys.json")
		text := fmt.Sprintf(`{"keys": {%q: %q}}`, id, base64.StdEncoding.EncodeToString(bytes.Repeat([]byte(of), 32)))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	sealer, err := seal.New(seal.Keys{Seal: "k2", Known: map[string][]byte{"k2": bytes.Repeat([]byte("2"), 32)}})
	require.NoError(t, err)
	enq, err := work.NewEnqueuer(dsn, work.Namespace("shop"), work.Codecs(sealer))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, enq.Close()) })
	_, err = enq.With(work.ID("mail-7")).Enqueue(t.Context(), "mail", "ann@example.org")
	require.NoError(t, err)

	assert.Contains(t, run("jobs", "show", "mail-7").out, "sealed with key k2, 47 bytes")
	assert.NotContains(t, run("jobs", "show", "mail-7", "--json").out, "ann@")
	keys := file("k2", "2")
	assert.Contains(t, run("jobs", "show", "mail-7", "--keys", keys).out, `["ann@example.org"]`)
	assert.Contains(t, run("jobs", "show", "mail-7", "--keys", keys, "--json").out, `["ann@example.org"]`)
	got := run("jobs", "show", "mail-7", "--keys", file("k1", "1"))
	assert.NotZero(t, got.status)
	assert.Contains(t, got.err, `key "k2" of codec "aes-gcm": this program has no such key`)
	assert.NotZero(t, run("jobs", "show", "mail-7", "--keys", "none.json").status)
	long := strings.Repeat("bob@example.org ", 200)
	for id, codecs := range map[string][]work.Codec{"small-1": {compress.New(compress.Options{})},
		"small-2": {compress.New(compress.Options{}), sealer}} {
		enq, err := work.NewEnqueuer(dsn, work.Namespace("shop"), work.Codecs(codecs...))
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, enq.Close()) })
		_, err = enq.With(work.ID(id)).Enqueue(t.Context(), "mail", long)
		require.NoError(t, err)
		assert.Contains(t, run("jobs", "show", id, "--keys", keys, "--json").out, long)
	}
	assert.Contains(t, run("jobs", "show", "small-1", "--json").out, long, "no key is needed")
	assert.NotContains(t, run("jobs", "show", "small-2", "--json").out, "bob@")
	assert.Contains(t, run("jobs", "search", "--args", "aes-gcm:k2").out, "mail-7")
}

// A dashboard with the keys opens what is sealed for operators, and for nobody else; one without them opens only what
// is compressed.
func TestUIOpensForOperatorsWhatIsSealed(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	key := bytes.Repeat([]byte("2"), 32)
	sealer, err := seal.New(seal.Keys{Seal: "k2", Known: map[string][]byte{"k2": key}})
	require.NoError(t, err)
	small := compress.New(compress.Options{Above: -1})
	for id, codecs := range map[string][]work.Codec{"sealed": {small, sealer}, "small": {small}} {
		enq, err := work.NewEnqueuer(dsn, work.Namespace("shop"), work.Codecs(codecs...))
		require.NoError(t, err)
		_, err = enq.With(work.ID(id)).Enqueue(t.Context(), "mail", strings.Repeat("ann@example.org ", 20))
		require.NoError(t, err)
		require.NoError(t, enq.Close())
	}
	keys := fileWith(t, fmt.Sprintf(`{"keys": {"k2": %q}}`, base64.StdEncoding.EncodeToString(key)))
	ann, _ := userLine(t, "correct horse", "ann", "--role", "operator")
	bob, _ := userLine(t, "battery staple", "bob")
	users := fileWith(t, ann+bob)
	for name, row := range map[string]struct {
		page string
		args []string
		open bool
	}{
		"with keys":    {"job?id=", []string{"--namespace", "shop", "--keys", keys}, true},
		"without":      {"job?id=", []string{"--namespace", "shop"}, false},
		"in one place": {"a/job?id=", []string{"--places", fileWith(t, "a shop\n"), "--keys", keys}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, append([]string{"--redis", dsn, "--users", users}, row.args...)...)
			look := func(id, user, password string) string {
				status, text := s.ask(http.MethodGet, row.page+id, user, password)
				require.Equal(t, http.StatusOK, status)
				return text
			}
			operator := look("sealed", "ann", "correct horse")
			assert.Equal(t, row.open, strings.Contains(operator, "ann@"), operator)
			assert.Equal(t, !row.open, strings.Contains(operator, "sealed with key k2"), operator)
			viewer := look("sealed", "bob", "battery staple")
			assert.NotContains(t, viewer, "ann@")
			assert.Contains(t, viewer, "sealed with key k2")
			assert.Contains(t, look("small", "ann", "correct horse"), "ann@", "which needs no key")
		})
	}
	got := call("ui", "--redis", dsn, "--listen", "127.0.0.1:0", "--keys", fileWith(t, "{"))
	assert.Equal(t, exit.Usage, got.status)
	assert.Contains(t, got.err, "--keys: the file of keys ")
}
