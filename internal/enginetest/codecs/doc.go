// Package codecs tests how args, results and other values of jobs are stored by codecs: that nothing of a sealed one
// can be read, who opens it, and what becomes of jobs that nobody here can open. It has nothing but tests.
package codecs
