package objects

import "context"

// Source is where contents are read from: a [Store], or a [Cache] in front of one. It returns what was put under that
// hash, verified, or an error. The caller must not change the bytes. Get may be called concurrently.
type Source interface {
	Get(ctx context.Context, hash Hash) ([]byte, error)
}

type sourceKey struct{}

// NewContext returns a ctx in which every [Ref] that was not bound reads from the source, also those inside other
// values.
func NewContext(ctx context.Context, source Source) context.Context {
	return context.WithValue(ctx, sourceKey{}, source)
}

func sourceOf(ctx context.Context) Source {
	source, _ := ctx.Value(sourceKey{}).(Source)
	return source
}
