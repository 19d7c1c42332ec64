package signatures

func inTest(a, b, c, d, e int) {}
