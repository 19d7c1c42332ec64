// Package growth tests that what a pool sends to Redis does not grow with the fleet, with the names that it serves, or
// with its schedules. It has nothing but tests.
package growth
