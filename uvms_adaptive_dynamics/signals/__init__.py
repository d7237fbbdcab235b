"""From raw topics to synchronous samples (DESIGN section 5): `front_end.SignalFrontEnd` leads, each other file is one step of it."""
