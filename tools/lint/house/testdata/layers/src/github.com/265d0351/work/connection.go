package work

import _ "github.com/gomodule/redigo/redis"
