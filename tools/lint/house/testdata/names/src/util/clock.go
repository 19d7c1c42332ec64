package util // want `package util could hold anything`
