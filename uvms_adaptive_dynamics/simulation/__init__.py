"""A simulated BlueROV2 Heavy with a Reach Alpha 5, which shares no equation with the regressors.

Rigid bodies move by Pinocchio's recursive algorithms, water by formulas of its own. Data goes from
true_robot over physics, motion, robot and sensors to a bag or a node.
"""
