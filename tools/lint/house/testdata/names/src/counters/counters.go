package counters
