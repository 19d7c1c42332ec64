package redis

type Pool struct{}
