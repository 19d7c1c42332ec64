package util // want `package util could hold anything` `file util.go could hold anything`
