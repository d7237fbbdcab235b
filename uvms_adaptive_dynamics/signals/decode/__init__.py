"""Messages to readings in time."""
