"""Which settings may change while the node runs."""
from uvms_adaptive_dynamics.config import LIVE, Config, fixed_because


def test_every_setting_may_change_or_has_a_reason():
    """And the list names no setting that does not exist."""
    names = {name for name, _, _ in Config().settings()}
    assert names >= LIVE
    for name in names:
        assert bool(fixed_because(name)) == (name not in LIVE)
    assert fixed_because("dvl.topic") == "topics are subscribed at start"
    assert "~/load" in fixed_because("prior.file")


def test_all_of_a_kind_are_alike():
    """Every timeout, every limit of plausibility and every period of an output may change."""
    for name, _, _ in Config().settings():
        if name.endswith(".timeout") or name.startswith("limits.") or (
                name.startswith("output.") and name.endswith("_period")):
            assert name in LIVE, name
