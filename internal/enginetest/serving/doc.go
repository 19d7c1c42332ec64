// Package serving tests what a pool serves while it runs: names that are withdrawn and served again, whoever fetches,
// dies or loses its calls meanwhile. It has nothing but tests.
package serving
