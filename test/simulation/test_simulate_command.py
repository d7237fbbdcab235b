"""The command `simulate`."""

import argparse

from uvms_adaptive_dynamics.simulation import simulate_command


def test_simulate_command_writes_bag_and_truth(tmp_path):
    """The command's arguments reach the bag: duration, storage, payload and truth."""
    parser = argparse.ArgumentParser()
    simulate_command.add_arguments(parser)
    args = [
        "--output",
        str(tmp_path / "b"),
        "--duration",
        "1",
        "--seed",
        "2",
        "--payload",
        "0.2",
        "--truth",
        str(tmp_path / "t.npz"),
    ]
    assert simulate_command.run(parser.parse_args(args)) == 0
    assert (tmp_path / "b" / "metadata.yaml").is_file() and (tmp_path / "t.npz").is_file()
