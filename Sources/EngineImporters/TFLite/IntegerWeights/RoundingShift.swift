/// Computes a shift that makes the engine round like TensorFlow Lite, which multiplies a convolution's sum, an integer,
/// by a float and rounds. The engine's intermediate roundings differ: its products differ by a few ten-millionths. If a
/// product is nearly half-way between two integers, this decides, and one different value in an early layer causes
/// thousands in the last ones.
enum RoundingShift {
    /// The number to add to the products, in steps of the output, so that halves are as far away as possible on both
    /// sides, while sums are rounded as before. It is far smaller than one step.
    ///
    /// TensorFlow Lite's own product may be exactly half-way, and is then rounded to even: up for some sums, down for
    /// others. No shift is right for all of these, so small products take precedence, because they are the most
    /// frequent.
    /// - Parameters:
    ///   - multiplier: the factor by which TensorFlow Lite multiplies sums.
    ///   - zeroPoint: the zero point of the output; the output's values are 0 to 255.
    static func shift(multiplier: Float, zeroPoint: Int) -> Double {
        guard multiplier > 1e-7, multiplier < 1 else { return 0 }
        // The distances by which products may move up and down.
        var up = 0.5, down = 0.5
        let values = -zeroPoint..<255 - zeroPoint
        for half in (0..<256).flatMap({ [$0, -1 - $0] }) where values.contains(half) {
            let nearest = ((Double(half) + 0.5) / Double(multiplier)).rounded(.down)
            for sum in [nearest, nearest + 1, nearest - 1, nearest + 2] {
                let product = sum * Double(multiplier)
                let rounded = Double((Float(sum) * multiplier).rounded(.toNearestOrEven))
                let newUp = min(up, rounded + 0.5 - product), newDown = min(down, product - (rounded - 0.5))
                if newUp + newDown >= minimumRoom { (up, down) = (newUp, newDown) }
            }
        }
        return (up - down) / 2
    }

    /// The minimum distance between the halves, in steps of the output: a smaller one contains no float.
    private static let minimumRoom = 1e-6
}
