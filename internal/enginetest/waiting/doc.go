// Package waiting tests how programs wait for the ends of jobs: results come as the handler returned them, an end is
// told whatever connection is lost meanwhile, and each end is in a list of completions once. It has nothing but tests.
package waiting
