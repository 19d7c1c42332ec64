package objects

import (
	"context"
	"iter"
	"sync"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// Store is the objects of one namespace. Its methods may be called concurrently, in any number of processes, and each
// may be called again after an error: what was done already is not done twice.
type Store struct {
	redis    rdb.Objects
	options  Options
	contents contents

	closing sync.Once
	closed  error
	toClose redisconn.Driver // nil where it belongs to somebody else
}

// contents is how a store treats contents: in Redis, where one script can see all there is to know of an object, or in
// a home of its own.
type contents interface {
	// put has the content there and its last use noted before it returns.
	put(ctx context.Context, hash Hash, content []byte) error
	// get returns what is there, whatever it is, or a *VanishedError.
	get(ctx context.Context, hash Hash) ([]byte, error)
	// size is that of what is there, 0 for nothing; known is what Redis says.
	size(ctx context.Context, hash Hash, known int64) (int64, error)
	// drop removes those that may go at this moment, and returns them.
	drop(ctx context.Context, hashes []string) ([]string, error)
	// list yields the contents that are there without Redis' knowing, perhaps.
	list(ctx context.Context) iter.Seq2[Hash, error]
	// adopt has those contents noted that Redis does not know, so that they are found when they have become old.
	adopt(ctx context.Context, hashes []string) error
}

// Open makes the store of a namespace in the Redis that dsn names; see NewEnqueuer for the forms of a DSN. It does not
// connect: that happens at the first use. The caller closes it. A wrong option is an *[OptionError].
func Open(dsn string, options Options) (*Store, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	driver, err := redisconn.Open(dsn)
	if err != nil {
		return nil, err
	}
	s := newStore(rdb.NewStore(driver, options.Namespace), options)
	s.toClose = driver
	return s, nil
}

// New makes a store on the framework's own connection, which stays its owner's; Options.Namespace is ignored. It is for
// packages of this module.
func New(redis *rdb.Store, options Options) (*Store, error) {
	options.Namespace = ""
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	return newStore(redis, options), nil
}

func newStore(redis *rdb.Store, options Options) *Store {
	s := &Store{redis: rdb.Objects{Store: redis, Elsewhere: options.Home != nil}, options: options}
	if options.Home == nil {
		s.contents = &inRedis{redis: s.redis, grace: options.Grace}
	} else {
		s.contents = &atHome{
			redis: s.redis, home: options.Home, grace: options.Grace,
			owner: ownership{redis: s.redis},
		}
	}
	return s
}

// Close closes the connection of a store that Open made. Closing again does nothing and returns the same error.
func (s *Store) Close() error {
	s.closing.Do(func() {
		if s.toClose != nil {
			s.closed = s.toClose.Close()
		}
	})
	return s.closed
}

// Put stores a content, unless it is there already, and returns its hash. From then on it stays for the grace period,
// and for as long as a job refers to it. A content of more than [MaxSize] bytes is a *[TooLargeError]. What an
// interrupted Put leaves behind goes away by itself.
func (s *Store) Put(ctx context.Context, content []byte) (Hash, error) {
	if len(content) > MaxSize {
		return "", &TooLargeError{What: "content", Size: len(content), Limit: MaxSize}
	}
	hash := Of(content)
	return hash, s.contents.put(ctx, hash, content)
}

// Get returns the content of an object, after comparing it with the hash. One that is not there is a *[VanishedError],
// one that somebody changed is a *[MismatchError]. The bytes are the caller's. Reading is no use that keeps an object.
func (s *Store) Get(ctx context.Context, hash Hash) ([]byte, error) {
	if err := hash.check(); err != nil {
		return nil, err
	}
	content, err := s.contents.get(ctx, hash)
	if err != nil {
		return nil, err
	}
	if found := Of(content); found != hash {
		return nil, &MismatchError{Hash: hash, Found: "the hash " + string(found)}
	}
	return content, nil
}
