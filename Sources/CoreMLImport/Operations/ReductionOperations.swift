/// The reductions of networks and of programs.
enum Reduction {
    case sum, mean, max, min, product, sumOfSquares
    /// The sum of the absolute values.
    case l1
    /// The root of the sum of squares.
    case l2
    /// The logarithm of the sum.
    case logSum
    /// The logarithm of the sum of the exponentials.
    case logSumExp
}

extension GraphBuilder {
    func reduce(_ x: Graph.Value, by reduction: Reduction, axes: [Int], keepsAxes: Bool) throws(Problem) -> Graph.Value
    {
        func reduced(_ type: String, _ value: Graph.Value) throws(Problem) -> Graph.Value {
            try reduce(type, value, axes: axes, keepsAxes: keepsAxes)
        }
        switch reduction {
        case .sum: return try reduced("ReduceSum", x)
        case .mean: return try reduced("ReduceMean", x)
        case .max: return try reduced("ReduceMax", x)
        case .min: return try reduced("ReduceMin", x)
        case .product: return try reduced("ReduceProd", x)
        case .sumOfSquares: return try reduced("ReduceSum", multiply(x, x))
        case .l1: return try reduced("ReduceSum", unary("Abs", x))
        case .l2: return unary("Sqrt", try reduced("ReduceSum", multiply(x, x)))
        case .logSum: return unary("Log", try reduced("ReduceSum", x))
        case .logSumExp:
            // Subtract the maximum first: its exponential could overflow.
            let largest = try reduce("ReduceMax", x, axes: axes, keepsAxes: true)
            let sum = try reduced("ReduceSum", unary("Exp", subtract(x, largest)))
            return try add(unary("Log", sum), keepsAxes ? largest : reduced("ReduceMax", x))
        }
    }
}
