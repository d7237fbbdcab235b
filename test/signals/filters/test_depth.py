"""Depth at the surface and on the floor."""

from types import SimpleNamespace as Message

import pytest
from analytic import pressure_message
from signal_runs import reasons, run

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.signals.filters.depth import DepthFilter


def test_vehicle_at_the_surface_is_masked(clean):
    """Shallower than depth.minimum the vehicle's rows do not count."""
    config, robot, _, messages = clean

    def surface(role, message, t):
        return role, pressure_message(Message(t=t), 0.1) if role == "depth" else message, t

    front, samples = run(config, robot, messages, surface)
    assert (
        "at the surface" in reasons(front, "heave")
        and samples[200].valid[6:].any()
        and not samples[200].valid[:6].any()
    )


@pytest.mark.parametrize(
    "depth, t, reason",
    [
        (0.1, 2.0, "at the surface"),
        (5.0, 2.0, ""),
        (50.0, 2.0, "on the floor"),
        (0.1, 60.0, ""),
    ],
)
def test_only_a_recent_depth_masks(depth, t, reason):
    """Beyond its limits while it is recent; a silent sensor masks nothing."""
    config = Config().with_values({"depth.minimum": 0.3, "depth.maximum": 20.0})
    depths = DepthFilter(config)
    for k in range(21):
        depths.add(0.1 * k, [depth])
    depths.flush()
    assert depths.mask_reason(t) == reason
    assert depths.mask_reason(-1.0) == ""
