"""The demonstration: simulated robot, node and live view on real ROS 2 topics."""
