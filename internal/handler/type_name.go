package handler

import "reflect"

// TypeName is how Go names a type, with the last part of its package: what steps of jobs are told apart by.
func TypeName[T any]() string { return reflect.TypeFor[T]().String() }
