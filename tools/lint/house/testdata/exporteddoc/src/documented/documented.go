package documented

func Bare() {} // want `exported Bare has no comment`

// Told has one.
func Told() {}

func hidden() {}

type Thing struct{ Field int } // want `exported Thing has no comment`

// Pair has one.
type Pair[K, V any] struct{}

func (*Pair[K, V]) Swapped() {} // want `exported Swapped has no comment`

func (*Pair[K, V]) Error() string { return "" }

type private struct{}

func (private) Exported() {}

// Limits, all in bytes.
const (
	Small = 1
	Large = 2
)

const (
	Zero = /* want `exported Zero has no comment` */ 0
	One  = 1 // the first one
	two  = 2
)

var Loose /* want `exported Loose has no comment` */ int

// A comment for a group of types is not enough.
type (
	// Left has its own.
	Left  struct{}
	Right struct{} // want `exported Right has no comment`
)

//lint:ignore U1000 a directive is no comment
func Directed() {} // want `exported Directed has no comment`
