/// Minimizes a smooth convex function by limited-memory BFGS (J. Nocedal, 1980): two loops over the last ten steps, and
/// a line search by halving. It uses no random numbers: the same function gives the same bits.
struct LimitedMemoryBFGS {
    /// The number of steps that are kept.
    var memory = 10
    var maximumIterations = 2_000
    /// The length of the gradient at which the search ends.
    var tolerance = 1e-6

    /// A step: the change of the position, the change of the gradient, and 1 over their product.
    private struct Step {
        let place: [Double]
        let gradient: [Double]
        let factor: Double
    }

    /// The position of the minimum, searched from zeros; nil if cancelled.
    /// - Parameters:
    ///   - count: the number of elements of a position.
    ///   - function: returns the value at a position and writes the gradient.
    func minimum(
        count: Int, isCancelled: () -> Bool = { false },
        _ function: (_ place: [Double], _ gradient: inout [Double]) -> Double
    ) -> [Double]? {
        var place = [Double](repeating: 0, count: count)
        var gradient = place
        var value = function(place, &gradient)
        var steps: [Step] = []
        for _ in 0..<maximumIterations {
            if isCancelled() { return nil }
            let length = Self.dot(gradient, gradient).squareRoot()
            if length <= tolerance { break }
            let direction = descent(gradient, steps)
            let slope = Self.dot(gradient, direction)
            // At the minimum, rounding errors can make the direction one that does not descend.
            guard slope < 0 else { break }
            var size = steps.isEmpty ? min(1, 1 / length) : 1
            var newPlace = place, newGradient = gradient
            var newValue = value
            var isLower = false
            for _ in 0..<60 {
                for index in 0..<count { newPlace[index] = place[index] + size * direction[index] }
                newValue = function(newPlace, &newGradient)
                // Close to the minimum the values differ only by rounding errors; then the slope decides.
                isLower =
                    newValue <= value + 1e-4 * size * slope
                    || (abs(newValue - value) <= 1e-12 * abs(value)
                        && abs(Self.dot(newGradient, direction)) < 0.9 * abs(slope))
                if isLower { break }
                size /= 2
            }
            guard isLower else { break }
            let change = zip(newPlace, place).map { $0 - $1 }
            let turn = zip(newGradient, gradient).map { $0 - $1 }
            let product = Self.dot(change, turn)
            if product > 1e-300 {
                if steps.count == memory { steps.removeFirst() }
                steps.append(Step(place: change, gradient: turn, factor: 1 / product))
            }
            (place, gradient, value) = (newPlace, newGradient, newValue)
        }
        return place
    }

    /// The descent direction: the gradient, transformed by the previous steps.
    private func descent(_ gradient: [Double], _ steps: [Step]) -> [Double] {
        var direction = gradient
        var alphas: [Double] = []
        for step in steps.reversed() {
            let alpha = step.factor * Self.dot(step.place, direction)
            alphas.append(alpha)
            for index in direction.indices { direction[index] -= alpha * step.gradient[index] }
        }
        if let last = steps.last {
            let scale = 1 / (last.factor * Self.dot(last.gradient, last.gradient))
            for index in direction.indices { direction[index] *= scale }
        }
        for (step, alpha) in zip(steps, alphas.reversed()) {
            let beta = step.factor * Self.dot(step.gradient, direction)
            for index in direction.indices { direction[index] += (alpha - beta) * step.place[index] }
        }
        for index in direction.indices { direction[index] = -direction[index] }
        return direction
    }

    private static func dot(_ a: [Double], _ b: [Double]) -> Double {
        a.withUnsafeBufferPointer { a in b.withUnsafeBufferPointer { Vectors.dot(a, $0) } }
    }
}
