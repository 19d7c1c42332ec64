package signatures

import "context"

func four(ctx context.Context, a, b int, c string, d bool) {}

func five(a, b, c, d, e int) {} // want `five has 5 parameters besides the context`

func fiveWithContext(ctx context.Context, a, b, c int, d string, rest ...bool) {} // want `fiveWithContext has 5`

func unnamed(int, int, int, int, int) {} // want `unnamed has 5`

type store interface {
	put(ctx context.Context, a, b, c, d int)
	move(ctx context.Context, a, b, c, d, e int) // want `move has 5`
}
