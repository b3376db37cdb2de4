// Tests of ModelFacts.
