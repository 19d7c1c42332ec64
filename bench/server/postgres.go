package server

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// PostgresSettings are those of the PostgreSQL that is started here: nothing waits for a disk, as nothing does in
// the Redis beside it, and there is memory enough that nothing is read from one.
var PostgresSettings = []string{
	"fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=512MB", "max_wal_size=4GB",
	"max_connections=300",
}

// Postgres is an empty PostgreSQL that belongs to one run of the benchmark.
type Postgres struct {
	DSN     string
	Version string
	own     *child
	dir     string
	pool    *pgxpool.Pool
}

// StartPostgres makes a cluster with initdb in a temporary directory and starts it; as root it does both as the user
// postgres, since PostgreSQL refuses root. The caller closes it.
func StartPostgres(ctx context.Context) (*Postgres, error) {
	bin, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bench-postgres-")
	if err != nil {
		return nil, err
	}
	p := &Postgres{dir: dir}
	if err := p.start(ctx, bin); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// postgresPrograms finds the directory of initdb and postgres: on PATH, or where Debian keeps them, the newest.
func postgresPrograms() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(real), nil
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("no initdb on PATH nor in /usr/lib/postgresql/*/bin: install PostgreSQL")
	}
	slices.SortFunc(found, func(a, b string) int { return majorVersion(a) - majorVersion(b) })
	return filepath.Dir(found[len(found)-1]), nil
}

func majorVersion(initdb string) int {
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb))))
	if err != nil {
		return 0
	}
	return n
}

func (p *Postgres) start(ctx context.Context, bin string) error {
	attr, err := p.unprivileged()
	if err != nil {
		return err
	}
	data := filepath.Join(p.dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"),
		"-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = p.dir, attr
	if output, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, strings.TrimSpace(string(output)))
	}
	own, port, err := onFreePort(func(port int) (*child, error) {
		args := []string{"-D", data, "-p", strconv.Itoa(port), "-c", "listen_addresses=127.0.0.1", "-k", p.dir}
		for _, setting := range PostgresSettings {
			args = append(args, "-c", setting)
		}
		cmd := exec.Command(filepath.Join(bin, "postgres"), args...)
		cmd.Dir, cmd.SysProcAttr = p.dir, cloned(attr)
		return launch(cmd, "ready to accept connections", syscall.SIGQUIT)
	})
	if err != nil {
		return err
	}
	p.own = own
	p.DSN = fmt.Sprintf("postgres://bench@127.0.0.1:%d/postgres?sslmode=disable", port)
	if p.pool, err = pgxpool.New(ctx, p.DSN); err != nil {
		return err
	}
	return p.pool.QueryRow(ctx, "SHOW server_version").Scan(&p.Version)
}

// unprivileged gives the directory to the user postgres when this is root.
func (p *Postgres) unprivileged() (*syscall.SysProcAttr, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root, and there is no user postgres to run it: %w", err)
	}
	uid, uidErr := strconv.Atoi(account.Uid)
	gid, gidErr := strconv.Atoi(account.Gid)
	if uidErr != nil || gidErr != nil {
		return nil, fmt.Errorf("user postgres has ids %q and %q, which are no numbers", account.Uid, account.Gid)
	}
	if err := os.Chown(p.dir, uid, gid); err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

func cloned(attr *syscall.SysProcAttr) *syscall.SysProcAttr {
	if attr == nil {
		return nil
	}
	c := *attr
	return &c
}

// Pool is for the harness' own questions.
func (p *Postgres) Pool() *pgxpool.Pool { return p.pool }

// Clear empties the tables of River, where they exist, so that no run pays for the dead rows of another.
func (p *Postgres) Clear(ctx context.Context) error {
	_, err := p.pool.Exec(ctx, `DO $$ DECLARE t text; BEGIN
		FOR t IN SELECT tablename FROM pg_tables
			WHERE schemaname = 'public' AND tablename LIKE 'river\_%' AND tablename <> 'river_migration'
		LOOP EXECUTE 'TRUNCATE ' || quote_ident(t) || ' CASCADE'; END LOOP; END $$`)
	return err
}

// Ready brings the statistics of the tables up to date after jobs were stored, as autovacuum does within a minute:
// plans made for an empty table are not what River has in use.
func (p *Postgres) Ready(ctx context.Context) error {
	_, err := p.pool.Exec(ctx, "VACUUM (ANALYZE) river_job")
	return err
}

// CPU is the processor time that it has used so far, with all its processes.
func (p *Postgres) CPU() (time.Duration, error) { return familyCPU(p.own.cmd.Process.Pid) }

// Stored is how many bytes its table of jobs takes, with indexes.
func (p *Postgres) Stored(ctx context.Context) (bytes int64, err error) {
	err = p.pool.QueryRow(ctx, "SELECT coalesce(pg_total_relation_size(to_regclass('river_job')), 0)").Scan(&bytes)
	return bytes, err
}

// Close ends it and removes its directory.
func (p *Postgres) Close() {
	if p.pool != nil {
		p.pool.Close()
	}
	if p.own != nil {
		p.own.stop()
	}
	os.RemoveAll(p.dir) //lint:ignore errcheck a leftover in the temporary directory
}
