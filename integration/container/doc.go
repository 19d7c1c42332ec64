// Package container starts Redis in Docker for tests. A test package that imports it and calls Use in its TestMain has
// its real Redis in a container where WORK_TEST_REDIS=docker says so, or where there is no redis-server on PATH.
//
// It does so with the build tag docker, which .ci/run sets: what speaks to Docker takes long to build.
package container
