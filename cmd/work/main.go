// Command work enqueues background jobs, and shows on a directory of files how they are run.
package main

import "os"

func main() { os.Exit(execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
