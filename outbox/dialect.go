package outbox

import (
	"database/sql"
	"embed"
	"io/fs"
	"strconv"
	"strings"
)

// Dialect is what differs between databases.
type Dialect struct {
	folder   string
	numbered bool   // parameters are $1, $2, ...
	lock     string // locks a lane, and finds none where somebody else has it
	hold     string // is executed before lock, where a transaction that has read may not be able to write
	notify   string // wakes relays at the commit
	guard    string // lets one migration run at a time

	isolation *sql.TxOptions
}

const lockLane = "SELECT token, number, open_rows, opened, owner, leased FROM $_lanes WHERE lane = ?"

// committed reads what is committed when a statement begins: behind the lock of a lane, all that was done under it.
var committed = &sql.TxOptions{Isolation: sql.LevelReadCommitted}

// The databases.
var (
	PostgreSQL = &Dialect{folder: "postgres", numbered: true, lock: lockLane + " FOR UPDATE SKIP LOCKED",
		notify: "SELECT pg_notify($1, '')", guard: "SELECT pg_advisory_xact_lock(7264531890)",
		isolation: committed}
	// MySQL is MariaDB as well.
	MySQL  = &Dialect{folder: "mysql", lock: lockLane + " FOR UPDATE SKIP LOCKED", isolation: committed}
	SQLite = &Dialect{folder: "sqlite", lock: lockLane, hold: "UPDATE $_lanes SET lane = lane WHERE lane = ?"}
)

// bind writes parameters as the database has them.
func (d *Dialect) bind(query string) string {
	if !d.numbered {
		return query
	}
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, found := strings.Cut(query, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("$" + strconv.Itoa(n))
		query = after
	}
}

//go:embed migrations
var migrations embed.FS

// Migrations are the SQL files that make the tables, in the order of their names, for a tool of the program's own. Each
// may be executed again. They name the table work_outbox.
func (d *Dialect) Migrations() fs.FS {
	files, err := fs.Sub(migrations, "migrations/"+d.folder)
	if err != nil {
		panic(err) // they are compiled in
	}
	return files
}
