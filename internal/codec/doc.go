// Package codec stores values of jobs (args, results, steps and the like) otherwise than as their JSON: sealed,
// compressed, or both. What it makes of a value is JSON again, an envelope that names the codecs and keys which can
// open it, so that it stands wherever the value itself would. It never looks at what a value is about.
//
// The root calls it where it encodes and decodes; package inspect and the commands where they show values. Redis and
// its scripts know nothing of it.
package codec
