// Command work looks at background jobs and changes them, enqueues some, and shows on a directory of files how they are
// run.
package main

import "os"

func main() { os.Exit(execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
