"""What is known of each input: counts, ages, reasons of rejection, and the sentence that diagnostics say of it."""
from __future__ import annotations

import math
from collections import Counter


class InputState:
    """What diagnostics tell of one role: how many messages, how old the last, what was rejected and why."""

    def __init__(self, role: str, topic: str):
        self.role, self.topic = role, topic
        self.received = self.used = 0
        self.last_receive: float | None = None
        self.last_stamp = -math.inf
        self.rejected: Counter = Counter()
        self.refused_in_a_row = 0
        self.last_error = ""

    def use(self) -> None:
        """Count a message that is used."""
        self.used += 1
        self.refused_in_a_row = 0

    def doubt(self, reason: str) -> None:
        """Count a used message of which the gates later refused a value."""
        self.rejected[reason] += 1
        self.last_error = reason

    def reject(self, reason: str, text: str = "") -> None:
        """Count a message that is not used."""
        self.rejected[reason] += 1
        self.refused_in_a_row += 1
        self.last_error = text or reason


# [s] of silence after which an operator should look; slower than the masks of rows, which follow the settings.
TIMEOUTS = {"imu": 1.0, "dvl": 2.0, "depth": 3.0, "joint_states": 1.0, "thrusters": 2.0, "wrench": 2.0, "battery": 30.0}
OK, WARN, ERROR = 0, 1, 2
LASTING = 10      # messages refused in a row, from which an input is worth a warning however long it was good


def input_status(state: InputState, now: float, timeout: float) -> tuple[int, str, str, dict[str, str]]:
    """What diagnostics say of one input, worst first."""
    figures = {"topic": state.topic, "received": str(state.received), "used": str(state.used),
               **{f"rejected: {reason}": str(count) for reason, count in state.rejected.items()}}
    name = f"input {state.role}"
    if state.last_receive is None:
        return ERROR, name, f"no message on '{state.topic}' yet; is the driver running and the topic name right?", figures
    age = now - state.last_receive
    figures["age_s"] = f"{age:.2f}"
    if age > timeout:
        return ERROR, name, f"'{state.topic}' has been silent for {age:.1f} s; its rows are masked", figures
    if state.refused_in_a_row >= LASTING:
        return WARN, name, f"the last {state.refused_in_a_row} messages were not used: {state.last_error}", figures
    rejected = sum(state.rejected.values())
    if rejected > 0.1 * state.received:
        return WARN, name, f"{rejected} of {state.received} messages not used; last: {state.last_error}", figures
    return OK, name, f"{state.used} messages used", figures
