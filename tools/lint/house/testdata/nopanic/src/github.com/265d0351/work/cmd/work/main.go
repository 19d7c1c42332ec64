package main

func main() { panic("elsewhere it is a matter of taste") }
