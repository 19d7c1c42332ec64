package main

import (
	_ "reflect"

	_ "github.com/265d0351/work/embedded"
	// want `must not import .*internal/rdb": commands use the public API only`
	_ "github.com/265d0351/work/internal/rdb"
)

func main() {}
