"""The ROS layer: node, messages, recording and demo. Nothing outside this folder imports rclpy."""
