package people

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"log/slog"
	"net"
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
	path   string
	logger *slog.Logger
	now    func() time.Time
	key    []byte        // of what is remembered of passwords
	turn   chan struct{} // of those who compare a password: so many processors at the most

	mu     sync.Mutex
	list   *list
	looked time.Time
	knows  map[string]known // who has come in, by name: a password is compared by bcrypt once, not for each request
	tries  tries
}

// known is what was right of a user: it holds as long as the hash in the file is the same.
type known struct{ hash, digest string }

// comparing is how many passwords are compared at a time. Each takes a processor for about a quarter of a second.
const comparing = 2

// Open reads the file, and tells what is wrong with it. What becomes wrong with it later goes to the logger, and who
// was in it before stays in.
func Open(path string, logger *slog.Logger) (*Gate, error) {
	l, err := read(path)
	if err != nil {
		return nil, err
	}
	g := &Gate{path: path, logger: logger, now: time.Now, key: []byte(rand.Text()), list: l,
		turn: make(chan struct{}, comparing), knows: map[string]known{}, tries: newTries()}
	g.looked = g.now()
	return g, nil
}

// Authorize is a [webui.Authorizer] that asks for a user and a password. Who is not in the file takes as long as who is
// and has the wrong one. Wrong tries are bounded, see tries; who has come in already is not held up by them.
func (g *Gate) Authorize(r *http.Request) (webui.Role, string, error) {
	name, password, given := r.BasicAuth()
	if !given {
		return webui.RoleNone, "", challenge()
	}
	one, decoy := g.person(name)
	digest := g.digest(name, password)
	if g.remembers(name, digest, one) {
		return one.role, name, nil
	}
	if wait := g.take(name, r.RemoteAddr); wait > 0 {
		return webui.RoleNone, "", &webui.LoginError{Wait: wait}
	}
	if !g.compare(r, one, decoy, password) {
		return webui.RoleNone, "", challenge()
	}
	g.remember(name, known{string(one.hash), digest}, r.RemoteAddr)
	return one.role, name, nil
}

func challenge() error {
	return &webui.LoginError{Challenge: `Basic realm="work", charset="UTF-8"`}
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
	for name, k := range g.knows {
		if string(l.people[name].hash) != k.hash {
			delete(g.knows, name)
		}
	}
	g.logger.Info("the users were read again", "users", len(l.people))
}

// digest is what is remembered of a password, which is in no memory after the request.
func (g *Gate) digest(name, password string) string {
	mac := hmac.New(sha256.New, g.key)
	mac.Write([]byte(name + "\x00" + password))
	return string(mac.Sum(nil))
}

func (g *Gate) remembers(name, digest string, one person) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	k := g.knows[name]
	return one.hash != nil && k.hash == string(one.hash) && hmac.Equal([]byte(k.digest), []byte(digest))
}

func (g *Gate) remember(name string, k known, remote string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.knows[name] = k // as many as there are users
	g.tries.forgive(who(name, remote))
}

func (g *Gate) take(name, remote string) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tries.take(who(name, remote), g.now())
}

// who is a user at an address: nobody is kept out by what others try elsewhere.
func who(name, remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	return host + " " + name[:min(len(name), 200)]
}
