// Package resize changes how many partitions a namespace has, and brings what is bound to one partition to where it
// lives then: [To] and [Bind]. Whatever it has begun anybody can go on with: what is to be done stands in the map of
// the partitions and in keys of Redis, see docs/contributing/redis-contract.md. It runs no jobs and stores none anew.
package resize
