internal import SystemSupport

/// The order of examples: a Fisher-Yates shuffle with random numbers of SplitMix64, whose state continues across
/// epochs.
struct ExampleOrder {
    private var random: SplitMix64

    init(seed: Int) { random = SplitMix64(seed: UInt64(bitPattern: Int64(seed))) }

    mutating func shuffle(_ order: inout [Int]) {
        guard order.count > 1 else { return }
        for last in stride(from: order.count - 1, to: 0, by: -1) {
            order.swapAt(last, Int(random.next() % UInt64(last + 1)))
        }
    }
}
