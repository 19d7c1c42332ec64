// Package gocraft reads the layout of github.com/gocraft/work in Redis, and takes jobs out of it. It was written from
// the documentation of that library and by looking at what it does.
package gocraft
