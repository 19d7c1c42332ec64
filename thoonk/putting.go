package thoonk

import "github.com/265d0351/work/internal/ids"

// PutOption changes how an item is put into a feed.
type PutOption func(*putting)

type putting struct {
	id     string
	chosen bool
	front  bool
}

// WithID puts the item under this id instead of a random one.
func WithID(id string) PutOption {
	return func(p *putting) { p.id, p.chosen = id, true }
}

// AtFront puts the item where it is the next to be taken. In a leaf, where all are new at the same end, it has no
// effect.
func AtFront() PutOption {
	return func(p *putting) { p.front = true }
}

// newPutting applies options and checks an id that was chosen.
func newPutting(options []PutOption, check func(id string) error) (putting, error) {
	var p putting
	for _, option := range options {
		option(&p)
	}
	if !p.chosen {
		p.id = ids.UUID()
		return p, nil
	}
	return p, check(p.id)
}

func checkID(id string) error { return checkName("id", id) }
