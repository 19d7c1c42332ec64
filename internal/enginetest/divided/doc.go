// Package divided has the tests of an Enqueuer whose namespace has several partitions, on each Redis.
package divided
