package rdb

import (
	_ "reflect"

	_ "github.com/gomodule/redigo/redis"
)
