/// TensorFlow Lite multiplies a convolution's sum, a whole number, by a float and rounds. The engine computes the same
/// with other roundings on the way, a few ten-millionths apart. Where a product is nearly half-way between two numbers,
/// that decides, and one value that differs in an early layer becomes thousands in the last ones.
enum RoundingShift {
    /// The number to add to the products, in steps of the output, so that halves are as far away as they can be on both
    /// sides, with sums rounded as before. Far below one step.
    ///
    /// TensorFlow Lite's own product may be half-way to its last bit, and goes to the even number then: up for some
    /// sums, down for others. No shift is right for all of these, so small products count first: they are the most
    /// frequent.
    /// - Parameters:
    ///   - multiplier: what TensorFlow Lite multiplies sums by.
    ///   - zeroPoint: of the output, whose values are 0 to 255.
    static func shift(multiplier: Float, zeroPoint: Int) -> Double {
        guard multiplier > 1e-7, multiplier < 1 else { return 0 }
        // How far products may move up and down.
        var up = 0.5, down = 0.5
        let values = -zeroPoint..<255 - zeroPoint
        for half in (0..<256).flatMap({ [$0, -1 - $0] }) where values.contains(half) {
            let nearest = ((Double(half) + 0.5) / Double(multiplier)).rounded(.down)
            for sum in [nearest, nearest + 1, nearest - 1, nearest + 2] {
                let product = sum * Double(multiplier)
                let rounded = Double((Float(sum) * multiplier).rounded(.toNearestOrEven))
                let newUp = min(up, rounded + 0.5 - product), newDown = min(down, product - (rounded - 0.5))
                if newUp + newDown >= leastRoom { (up, down) = (newUp, newDown) }
            }
        }
        return (up - down) / 2
    }

    /// In steps of the output: less leaves no number between the halves.
    private static let leastRoom = 1e-6
}
