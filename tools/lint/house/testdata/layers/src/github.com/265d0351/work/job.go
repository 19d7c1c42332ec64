package work

import (
	_ "reflect" // want `must not import "reflect": signatures are compiled in internal/handler`

	_ "github.com/gomodule/redigo/redis" // want `must not import "github.com/gomodule/redigo/redis": the driver`

	_ "github.com/265d0351/work/embedded" // want `must not import "github.com/265d0351/work/embedded"`
	_ "github.com/265d0351/work/internal/rdb"
)
