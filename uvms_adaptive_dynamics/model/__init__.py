"""What the robot is: parameters, regressors, the physically consistent set, priors, inverse and
forward dynamics."""
