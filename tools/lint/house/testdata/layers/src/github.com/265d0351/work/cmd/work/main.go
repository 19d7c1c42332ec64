package main

import (
	_ "reflect"

	_ "github.com/265d0351/work/embedded"
	_ "github.com/265d0351/work/internal/rdb" // want `must not import .*internal/rdb": commands use the public API only`
)

func main() {}
