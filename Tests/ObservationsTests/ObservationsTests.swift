// Tests of Observations.
