package thoonk

import (
	"context"
	"fmt"
)

// OpenFunc opens a feed of a kind of the program's own: as a type that embeds a [*Leaf], [*SortedFeed], [*Queue] or
// [*JobFeed], for instance.
type OpenFunc func(ctx context.Context, c *Client, name string) (Feed, error)

// WithKind adds a kind of the program's own, which is kept in Redis as one of this package's. [Client.Create] takes it,
// [Client.Open] calls open for feeds of it, with nil as a feed of the base kind; and the functions that open the base
// kind, such as [OpenQueue], open it too. Each client that uses such a feed has to be told of its kind.
func WithKind(kind, base Kind, open OpenFunc) Option {
	return func(c *Client) error {
		switch {
		case kind == "" || kind == base || builtIn(kind) || kind == "leaf" || kind == "list":
			return fmt.Errorf("kind %q has a meaning already: choose another word for a kind of your own", kind)
		case !builtIn(base):
			return fmt.Errorf("kind %q cannot be kept as %q: use %q, %q, %q or %q", kind, base,
				KindLeaf, KindSorted, KindQueue, KindJob)
		}
		if _, twice := c.kinds[kind]; twice {
			return fmt.Errorf("kind %q is given twice: give it once", kind)
		}
		c.kinds[kind] = ownKind{base: base}
		if open != nil {
			c.kinds[kind] = ownKind{base, func(ctx context.Context, name string) (any, error) {
				return open(ctx, c, name)
			}}
		}
		return nil
	}
}
