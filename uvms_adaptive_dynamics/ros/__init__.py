"""The ROS layer: node, messages, recording and demo. Nothing outside this folder and `simulation.node` imports rclpy."""
