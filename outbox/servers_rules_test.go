package outbox_test

import (
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/outbox"
)

// fresh is a database that has nothing in it, on a server.
func fresh(t *testing.T, d database) database {
	t.Helper()
	name := fmt.Sprintf("fresh_%d", tables.Add(1))
	db := d.open(t)
	_, err := db.ExecContext(t.Context(), "CREATE DATABASE "+name)
	require.NoError(t, err)
	d.DSN = strings.NewReplacer("/postgres?", "/"+name+"?", "/mysql", "/"+name).Replace(d.DSN)
	return d
}

// client is the database's own program, which executes a file of SQL.
func client(t *testing.T, d database) *exec.Cmd {
	t.Helper()
	name := map[string]string{"pgx": "psql", "mysql": "mariadb"}[d.Driver]
	if _, err := exec.LookPath(name); err != nil && os.Getenv("WORK_REQUIRE_SQL") == "" {
		t.Skip(err)
	}
	if d.Driver == "pgx" {
		return exec.CommandContext(t.Context(), name, "-X", "-q", "-v", "ON_ERROR_STOP=1", d.DSN)
	}
	var port int
	var db string
	_, err := fmt.Sscanf(d.DSN, "root@tcp(127.0.0.1:%d)/%s", &port, &db)
	require.NoError(t, err)
	return exec.CommandContext(t.Context(), name, "--no-defaults", "-u", "root", "-h", "127.0.0.1",
		fmt.Sprint("-P", port), db)
}

// TestTheFilesOfSQLMakeTheTables has the programs of the databases execute them, twice, as other tools do; the function
// finds nothing to do behind them.
func TestTheFilesOfSQLMakeTheTables(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, d database) {
		d = fresh(t, d)
		files, err := fs.Glob(d.Dialect.Migrations(), "*.sql")
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for range 2 {
			for _, file := range files {
				text, err := fs.ReadFile(d.Dialect.Migrations(), file)
				require.NoError(t, err)
				cmd := client(t, d)
				cmd.Stdin = strings.NewReader(string(text))
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s: %s", file, out)
			}
		}
		k := newKit(t, d, redistest.Real(t).DSN())
		k.table = "work_outbox"
		k.box = k.newBox()
		tokens := k.number("SELECT COUNT(DISTINCT token) FROM $_lanes")
		require.NoError(t, k.box.Migrate(t.Context(), k.db))
		assert.Equal(t, tokens, k.number("SELECT COUNT(*) FROM $_lanes"), "each lane has a token of its own")
		pool := k.workers(2, "a")
		committed := k.write(6, "a", "key")
		k.run(k.relay(k.enqueuer(), outbox.RelayOptions{}))
		k.emptied()
		k.ranOnce(pool, committed)
	})
}

// TestALaneThatIsLockedHoldsUpNoOther has somebody else sit on a lane, as a relay that stands still in a transaction
// does. The jobs of the other lanes are relayed meanwhile, by relays that do not wait for the lock.
func TestALaneThatIsLockedHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, d database) {
		k := newKit(t, d, redistest.Real(t).DSN())
		for lane := range 8 {
			k.enqueue(work.Entry{Name: "a", Args: []any{lane}})
			k.exec("UPDATE $ SET lane = ? WHERE id = (SELECT m FROM (SELECT MAX(id) AS m FROM $) AS last)", lane)
		}
		tx, err := k.db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
		require.NoError(t, err)
		defer tx.Rollback() //lint:ignore errcheck it was committed
		var lane int
		require.NoError(t, tx.QueryRowContext(t.Context(), k.sql("SELECT lane FROM $_lanes WHERE lane = 3 FOR UPDATE")).
			Scan(&lane))
		for range 2 {
			k.run(k.relay(k.enqueuer(), outbox.RelayOptions{}))
		}
		require.Eventually(t, func() bool { return k.number("SELECT COUNT(*) FROM $") == 1 }, patience,
			2*time.Millisecond)
		assert.EqualValues(t, 3, k.number("SELECT lane FROM $"))
		assert.Empty(t, told[outbox.Trouble](k), "nobody has waited for it until an error came")
		require.NoError(t, tx.Commit())
		k.emptied()
	})
}
