internal import Glibc

/// e to the power of a number.
func exponential(_ x: Double) -> Double { exp(x) }

/// The logistic function, without overflow.
func logistic(_ x: Double) -> Double { x < 0 ? exp(x) / (exp(x) + 1) : 1 / (exp(-x) + 1) }

/// The distribution function of the standard normal distribution.
func normalDistribution(_ x: Double) -> Double { erfc(-x * 0.5.squareRoot()) / 2 }

/// The hyperbolic tangent.
func hyperbolicTangent(_ x: Double) -> Double { tanh(x) }
