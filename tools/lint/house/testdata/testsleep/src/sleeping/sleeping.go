package sleeping

import "time"

func pause() { time.Sleep(time.Second) }
