package wholefile

func bad1() {}

//lint:file-ignore toy it is a test

func bad2() {}
