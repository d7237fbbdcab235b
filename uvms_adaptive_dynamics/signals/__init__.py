"""From raw messages to synchronous samples: decode, gate, filter and sample, led by `front_end`."""
