// Package redisconn is a Redis as this module sees it: a [Driver] that sends pipelines of commands and scripts, blocks
// and subscribes, made from a DSN ([Open]) or on a pool of redigo's that the program has ([FromPool]). It says of every
// call that failed whether Redis may have executed it. It knows neither keys nor jobs: internal/rdb builds on it.
package redisconn
