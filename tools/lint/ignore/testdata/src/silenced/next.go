package silenced

func good()  {} //lint:ignore toy it covers its own line only
func bad11() {} // want `bad11 is bad`
