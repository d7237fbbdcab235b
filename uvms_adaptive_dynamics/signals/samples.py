"""A whole recording through a front end: messages in, samples out."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..model.sample import Sample
from .front_end import SignalFrontEnd


def samples_of(front_end: SignalFrontEnd,
               messages: Iterable[tuple[str, Any, float]]) -> list[Sample]:
    """The samples of messages (role, message, time of reception [s since the epoch]), up to the
    last one."""
    samples = []
    for role, message, receive_time in messages:
        front_end.add_message(role, message, receive_time)
        samples += front_end.samples()
    return samples + front_end.flush()
