package work

import (
	_ "reflect"

	_ "github.com/265d0351/work/embedded"
	_ "github.com/gomodule/redigo/redis"
)
