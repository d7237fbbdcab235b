"""From rows to parameters: low-pass, information, forgetting, changes, and the estimator that
orchestrates them."""
