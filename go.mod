module github.com/265d0351/work

go 1.26
