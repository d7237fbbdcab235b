"""`guided`: whole guided identifications of the simulated robot, judged held out."""
