module github.com/265d0351/work/cmd/work

go 1.26

replace github.com/265d0351/work => ../..
