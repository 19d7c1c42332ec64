package wholefile

func bad3() {} // want `bad3 is bad`
