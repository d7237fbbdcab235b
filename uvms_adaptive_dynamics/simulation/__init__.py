"""A simulated BlueROV2 Heavy with a Reach Alpha 5: the truth that the estimator is tried against (DESIGN section 11).

It shares no equation with the package's regressors: rigid bodies by Pinocchio's recursive algorithms, water by its own
formulas. The way of the data: true_robot -> physics -> motion -> robot -> sensors -> bag or node.
"""
