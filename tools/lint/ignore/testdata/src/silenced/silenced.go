package silenced

func bad1() {} // want `bad1 is bad \(toy\)`

//lint:ignore toy it is a test
func bad2() {}

// bad3 has a comment too.
//
//lint:ignore toy it is a test
func bad3() {}

func bad4() {} //lint:ignore toy it is a test

//lint:ignore other the name is another one
func bad5() {} // want `bad5 is bad`

//lint:ignore other,toy one of two names
func bad6() {}

//lint:ignore t* a pattern
func bad7() {}

//lint:ignore toy
func bad8() {} // want `bad8 is bad`

//lint:ignore toy not two lines further

func bad9() {} // want `bad9 is bad`

//lint:ignore [ a pattern that is none
func bad10() {} // want `bad10 is bad`
