// Command work runs and watches background jobs.
package main

func main() {}
