// Package pooltest is what tests of the packages around the root share: a kit with a namespace of its own, an enqueuer
// and raw access to Redis, a spy that waits for events, a gauge of what runs, and a driver that interferes. It knows of
// the root what a program knows. Only tests import it.
package pooltest
