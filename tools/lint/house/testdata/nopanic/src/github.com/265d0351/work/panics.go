package work

func dies() {
	panic("no") // want `the framework must not panic`
}

func recovers() { _ = recover() }

func own() {
	panic := func(string) {}
	panic("a function that only looks like it")
}
