package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// try publishes a tree as a version into a proxy of files and installs it from there, as a user would: all modules,
// each of them first once, in a directory of its own, a program that uses them, and the command line. Other modules
// come from the cache of this machine, into which what is missing there is downloaded first.
func try(ctx context.Context, tree, version string) (err error) {
	dir, err := os.MkdirTemp("", "work-try-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	proxy := filepath.Join(dir, "proxy")
	if err := publish(ctx, tree, proxy, version); err != nil {
		return err
	}
	if err := fillCache(ctx, tree); err != nil {
		return err
	}
	u, err := newUser(ctx, dir, proxy)
	if err != nil {
		return err
	}
	for i, order := range orders([]string{root, root + "/goredis", root + "/metrics", root + "/otelwork",
		root + "/outbox", root + "/compress"}) {
		if err := u.gets(ctx, order, version, i == 0); err != nil {
			return fmt.Errorf("go get of %s: %w", strings.Join(order, ", "), err)
		}
	}
	return u.installs(ctx, version)
}

// fillCache downloads what the modules need each by itself: in the workspace that may be newer versions.
func fillCache(ctx context.Context, tree string) error {
	for _, dir := range released {
		c := exec.CommandContext(ctx, "go", "mod", "download")
		c.Dir, c.Env = filepath.Join(tree, dir), append(os.Environ(), "GOWORK=off")
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("go mod download in %s: %w\n%s", dir, err, out)
		}
	}
	return nil
}

// user is somebody who has Go, and nothing of ours but what the proxy holds.
type user struct {
	dir string
	env []string
}

func newUser(ctx context.Context, dir, proxy string) (user, error) {
	cache, err := exec.CommandContext(ctx, "go", "env", "GOMODCACHE").Output()
	if err != nil {
		return user{}, fmt.Errorf("go env: %w", failure(err))
	}
	others := filepath.Join(strings.TrimSpace(string(cache)), "cache", "download")
	return user{dir: dir, env: append(os.Environ(),
		"GOPROXY=file://"+proxy+",file://"+others, "GONOPROXY=none", "GOPRIVATE=", "GOSUMDB=off", "GOVCS=*:off",
		"GOMODCACHE="+filepath.Join(dir, "cache"), "GOBIN="+filepath.Join(dir, "bin"),
		"GOWORK=off", "GOTOOLCHAIN=local",
		"GOFLAGS=-modcacherw -trimpath", // so that the cache can be removed, and a second try compiles nothing again
	)}, nil
}

// do runs a command in a directory and returns what it prints.
func (u user) do(ctx context.Context, dir string, command ...string) (string, error) {
	var out bytes.Buffer
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Dir, c.Env, c.Stdout, c.Stderr = dir, u.env, &out, &out
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, out.String())
	}
	return out.String(), nil
}

// program uses the packages of each module.
const program = `package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/compress"
	_ "github.com/265d0351/work/embedded"
	"github.com/265d0351/work/goredis"
	"github.com/265d0351/work/metrics"
	"github.com/265d0351/work/otelwork"
	"github.com/265d0351/work/outbox"
)

func mail(to string) (string, error) { return "mailed " + to, nil }

func main() {
	ctx := context.Background()
	if _, err := work.NewEnqueuer("", work.WithConnection(goredis.Connection(nil))); err == nil {
		log.Fatal("goredis takes no client for one")
	}
	if _, err := outbox.New(nil); err == nil {
		log.Fatal("outbox takes no dialect for one")
	}
	pool := work.NewWorkerPool(nil, 2, work.WorkerOptions{Redis: "memory://",
		Codecs:    []work.Codec{compress.New(compress.Options{})},
		Observers: []work.Observer{metrics.New(metrics.Options{})}}).
		Middleware(otelwork.Process()).
		JobWithOptions("mail", work.JobOptions{Retention: time.Hour}, mail)
	if err := pool.Start(ctx); err != nil {
		log.Fatal(err)
	}
	receipt, err := pool.Enqueuer().Enqueue(ctx, "mail", "ada")
	if err != nil {
		log.Fatal(err)
	}
	said, err := work.Wait[string](ctx, pool.Enqueuer(), receipt.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(said)
	if err := pool.Stop(ctx); err != nil {
		log.Fatal(err)
	}
}
`

// gets gets modules in an order for a program that uses them all, which runs or is only checked.
func (u user) gets(ctx context.Context, order []string, version string, runs bool) error {
	dir := filepath.Join(u.dir, strings.ReplaceAll(strings.Join(order, "-"), "/", "."))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if _, err := u.do(ctx, dir, "go", "mod", "init", "example.com/shop"); err != nil {
		return err
	}
	for _, module := range order {
		if _, err := u.do(ctx, dir, "go", "get", module); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600); err != nil {
		return err
	}
	got, err := u.do(ctx, dir, append([]string{"go", "list", "-m", "-f", "{{.Version}}"}, order...)...)
	if err != nil {
		return err
	}
	if want := strings.Repeat(version+"\n", len(order)); got != want {
		return fmt.Errorf("go list says the versions\n%swanted\n%s", got, want)
	}
	if _, err := u.do(ctx, dir, "go", "get", "."); err != nil { // what the embedded Redis needs
		return err
	}
	if !runs {
		_, err := u.do(ctx, dir, "go", "vet", ".")
		return err
	}
	said, err := u.do(ctx, dir, "go", "run", ".")
	if err != nil {
		return err
	}
	if !strings.Contains(said, "mailed ada\n") {
		return fmt.Errorf("the program said %q", said)
	}
	return nil
}

// installs installs the command line, which must know its version.
func (u user) installs(ctx context.Context, version string) error {
	if _, err := u.do(ctx, u.dir, "go", "install", root+"/cmd/work@latest"); err != nil {
		return err
	}
	said, err := u.do(ctx, u.dir, filepath.Join(u.dir, "bin", "work"), "version")
	if err != nil {
		return err
	}
	if !strings.Contains(said, version) {
		return fmt.Errorf("work version says %q, which lacks %s", said, version)
	}
	return nil
}

// orders are as many as there are modules, each of which comes first in one and last in another.
func orders(of []string) [][]string {
	all := make([][]string, len(of))
	for i := range of {
		all[i] = append(append([]string{}, of[i:]...), of[:i]...)
	}
	return all
}
