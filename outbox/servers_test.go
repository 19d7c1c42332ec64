package outbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/outbox"
)

// TestMain runs the tests, or a relay that a test has started to kill it.
func TestMain(m *testing.M) {
	if os.Getenv(childTable) != "" {
		relayUntilKilled()
		return
	}
	code := redistest.Run(m)
	postgres.stop()
	mariadb.stop()
	os.Exit(code)
}

// server is a database server that the tests share. It is started by the first one that asks.
type server struct {
	once  sync.Once
	start func(s *server) error
	dsn   string
	err   error
	dir   string
	cmd   *exec.Cmd
}

var (
	postgres = &server{start: startPostgres}
	mariadb  = &server{start: startMariaDB}
)

// database is what a test runs on: a table of its own, or a file.
type database struct {
	Dialect *outbox.Dialect
	Driver  string
	DSN     string
}

// eachDatabase runs a test on each database of the machine: on SQLite with both kinds of Redis, on the others with a
// real one.
func eachDatabase(t *testing.T, test func(t *testing.T, d database, s redistest.Server)) {
	t.Helper()
	redistest.Each(t, func(t *testing.T, s redistest.Server) { test(t, sqlite(t), s) })
	eachServer(t, func(t *testing.T, d database) { test(t, d, redistest.Real(t)) })
}

// eachServer runs a test on PostgreSQL and MariaDB, where the machine has them. With WORK_REQUIRE_SQL=1 it fails where
// one is missing.
func eachServer(t *testing.T, test func(t *testing.T, d database)) {
	t.Helper()
	for name, d := range map[string]struct {
		server  *server
		dialect *outbox.Dialect
		driver  string
	}{"postgres": {postgres, outbox.PostgreSQL, "pgx"}, "mariadb": {mariadb, outbox.MySQL, "mysql"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, database{d.dialect, d.driver, d.server.need(t)})
		})
	}
}

func sqlite(t *testing.T) database {
	file := filepath.Join(t.TempDir(), "test.db")
	return database{outbox.SQLite, "sqlite",
		"file:" + file + "?_pragma=busy_timeout(20000)&_pragma=journal_mode(wal)&_pragma=synchronous(off)"}
}

// open opens it. A program's pool may be small: none of the tests needs more.
func (d database) open(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open(d.Driver, d.DSN)
	require.NoError(t, err)
	db.SetMaxOpenConns(4)
	t.Cleanup(func() { db.Close() })
	return db
}

// need is the DSN of a server that runs.
func (s *server) need(t *testing.T) string {
	t.Helper()
	s.once.Do(func() { s.err = s.run() })
	if s.err != nil && os.Getenv("WORK_REQUIRE_SQL") == "" {
		t.Skip(s.err)
	}
	require.NoError(t, s.err)
	return s.dsn
}

func (s *server) run() (err error) {
	if s.dir, err = os.MkdirTemp("", "outbox-"); err != nil {
		return err
	}
	return s.start(s)
}

func (s *server) stop() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill() // what it holds goes as well
		_ = s.cmd.Wait()
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir) // a directory that is left behind in /tmp harms nobody
	}
}

// as makes the attributes of a process that is not root's, since database servers refuse to be, and owns the directory.
func (s *server) as(name string) (*syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{}
	dieWithUs(attr)
	if os.Geteuid() != 0 {
		return attr, nil
	}
	account, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.Atoi(account.Uid)
	gid, _ := strconv.Atoi(account.Gid)
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attr, os.Chown(s.dir, uid, gid)
}

// launch starts the server and waits until it answers.
func (s *server) launch(cmd *exec.Cmd, driver string) error {
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd = cmd
	db, err := sql.Open(driver, s.dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		err = db.PingContext(ctx)
		cancel()
		if err == nil {
			return nil
		}
		<-time.After(20 * time.Millisecond)
	}
	text, _ := os.ReadFile(log.Name())
	return fmt.Errorf("%s does not answer: %w\n%s", cmd.Path, err, text)
}

// program finds a program on PATH or where Debian has it, the newest.
func program(name, places string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return filepath.EvalSymlinks(path)
	}
	found, err := filepath.Glob(places)
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("no %s on this machine: install its package", name)
	}
	return found[len(found)-1], nil
}

func startPostgres(s *server) error {
	initdb, err := program("initdb", "/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return err
	}
	attr, err := s.as("postgres")
	if err != nil {
		return err
	}
	data := filepath.Join(s.dir, "data")
	init := exec.Command(initdb, "-D", data, "-U", "test", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	init.Dir, init.SysProcAttr = s.dir, attr
	if out, err := init.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	port, err := redistest.FreePort("127.0.0.1")
	if err != nil {
		return err
	}
	s.dsn = fmt.Sprintf("postgres://test@127.0.0.1:%d/postgres?sslmode=disable", port)
	cmd := exec.Command(filepath.Join(filepath.Dir(initdb), "postgres"), "-D", data, "-p", strconv.Itoa(port), "-k",
		s.dir, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "max_connections=200")
	cmd.Dir, cmd.SysProcAttr = s.dir, attr
	return s.launch(cmd, "pgx")
}

func startMariaDB(s *server) error {
	mariadbd, err := program("mariadbd", "/usr/sbin/mariadbd")
	if err != nil {
		return err
	}
	attr, err := s.as("mysql")
	if err != nil {
		return err
	}
	install, err := program("mariadb-install-db", "/usr/bin/mariadb-install-db")
	if err != nil {
		return err
	}
	data := filepath.Join(s.dir, "data")
	init := exec.Command(install, "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal",
		"--skip-test-db")
	init.Dir, init.SysProcAttr = s.dir, attr
	if out, err := init.CombinedOutput(); err != nil {
		return fmt.Errorf("mariadb-install-db: %w: %s", err, out)
	}
	port, err := redistest.FreePort("127.0.0.1")
	if err != nil {
		return err
	}
	s.dsn = fmt.Sprintf("root@tcp(127.0.0.1:%d)/mysql", port)
	cmd := exec.Command(mariadbd, "--no-defaults", "--datadir="+data, "--port="+strconv.Itoa(port),
		"--bind-address=127.0.0.1", "--socket="+filepath.Join(s.dir, "socket"), "--skip-name-resolve",
		"--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M")
	cmd.Dir, cmd.SysProcAttr = s.dir, attr
	return s.launch(cmd, "mysql")
}
