package work

import (
	_ "reflect"

	_ "github.com/gomodule/redigo/redis"

	_ "github.com/265d0351/work/embedded"
)
