"""A few kills; `python test/kill_campaign.py` makes as many as one likes, and compares R^2."""
from kill_campaign import campaign


def test_a_kill_costs_one_interval_and_no_file():
    """Every restart goes on from a whole state that is at most one interval old."""
    found = campaign(5, 0.2, 10.0, learned_s=1.0, after_s=0.0)
    assert len(found) == 5
