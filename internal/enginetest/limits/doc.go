// Package limits tests the limits on how many jobs run at a time and how often they begin: they are never exceeded,
// and are reached. It has nothing but tests.
package limits
