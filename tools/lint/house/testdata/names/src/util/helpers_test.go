package util // want `package util could hold anything` `file helpers_test.go could hold anything`
