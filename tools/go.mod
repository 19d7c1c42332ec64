module github.com/265d0351/work/tools

go 1.26
