"""From gated readings to motion and thruster wrench at a tick."""
