package documented

func InTest() {}
