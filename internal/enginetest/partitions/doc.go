// Package partitions tests pools that work in several partitions of a namespace. Partitions are namespaces of one
// server here; one that is away, or does not answer, is played by the driver.
package partitions
