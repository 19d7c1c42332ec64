package people

import (
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/265d0351/work/webui"
)

// lookEvery is how often the file is looked at, at the most.
const lookEvery = time.Second

// Gate lets in who is in a file. All methods may be called concurrently.
type Gate struct {
	path      string
	logger    *slog.Logger
	now       func() time.Time
	authorize webui.Authorizer
	turn      chan struct{} // of those who compare a password: so many processors at the most

	mu     sync.Mutex
	list   *list
	looked time.Time
}

// comparing is how many passwords are compared at a time. Each takes a processor for about a quarter of a second.
const comparing = 2

// Open reads the file, and tells what is wrong with it. What becomes wrong with it later goes to the logger, and who
// was in it before stays in.
func Open(path string, logger *slog.Logger) (*Gate, error) {
	l, err := read(path)
	if err != nil {
		return nil, err
	}
	g := &Gate{path: path, logger: logger, now: time.Now, list: l, turn: make(chan struct{}, comparing)}
	g.authorize = webui.PasswordAuth(g.account)
	g.looked = g.now()
	return g, nil
}

// Authorize is a [webui.Authorizer] that asks for a user and a password. Who is not in the file takes as long as who is
// and has the wrong one. Wrong tries are bounded by [webui.PasswordAuth].
func (g *Gate) Authorize(r *http.Request) (webui.Role, string, error) { return g.authorize(r) }

func (g *Gate) account(name string) webui.Account {
	one, decoy := g.person(name)
	return webui.Account{Role: one.role, Secret: string(one.hash),
		Right: func(r *http.Request, password string) bool { return g.compare(r, one, decoy, password) }}
}

// compare takes its turn, so that many tries at once do not take all processors.
func (g *Gate) compare(r *http.Request, one person, decoy []byte, password string) bool {
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-r.Context().Done():
		return false
	}
	hash := one.hash
	if hash == nil {
		hash = decoy
	}
	right := bcrypt.CompareHashAndPassword(hash, []byte(password)) == nil
	return right && one.hash != nil
}

// Role is what the file says of a user whom a proxy has let in.
func (g *Gate) Role(name string, _ []string) webui.Role {
	one, _ := g.person(name)
	return one.role
}

// person is the line of a user as the file has it now.
func (g *Gate) person(name string) (one person, decoy []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refresh()
	return g.list.people[name], g.list.decoy
}

// refresh reads the file again if it has changed.
func (g *Gate) refresh() {
	now := g.now()
	if now.Sub(g.looked) < lookEvery {
		return
	}
	g.looked = now
	info, err := os.Stat(g.path)
	if err == nil && info.Size() == g.list.size && info.ModTime().Equal(g.list.at) {
		return
	}
	var l *list
	if err == nil {
		l, err = read(g.path)
	}
	if err != nil {
		g.logger.Error("the users are as before: their file cannot be read", "error", err)
		return
	}
	g.list = l
	g.logger.Info("the users were read again", "users", len(l.people))
}
