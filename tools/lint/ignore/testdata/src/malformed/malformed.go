package malformed

/* want `a directive needs a check and a reason` */ //lint:ignore toy
func a()                                            {}

/* want `a directive needs a check and a reason` */ //lint:file-ignore
func b()                                            {}

/* want `no check is called "tay"` */ //lint:ignore toy,tay a typo
func c()                              {}

/* want `nothing reads //nolint` */ //nolint:toy // another tool's
func d()                            {}

//lint:ignore t* a pattern that matches
func e() {}
