"""Logs that are no rosbag2 recordings, read as the messages that a ROS driver would have published.
"""
