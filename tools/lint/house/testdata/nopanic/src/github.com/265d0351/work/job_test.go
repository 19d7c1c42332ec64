package work

func inTest() { panic("a test may") }
