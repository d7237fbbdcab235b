"""What a controller gets of an estimate; no ROS."""
