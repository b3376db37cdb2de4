/// The input or output of a layer: a value, and how it represents a Core ML blob.
///
/// Old networks know only [Seq, B, C, H, W]. B is always 1, as the description cannot say otherwise, and the engine is
/// at its best with four axes: such blobs are kept `folded`, as [Seq, C, H, W]. An axis that is counted from the end is
/// the same axis of either.
struct Blob {
    let value: Graph.Value
    /// The value is [Seq, C, H, W] and stands for [Seq, 1, C, H, W].
    let isFolded: Bool

    init(_ value: Graph.Value, isFolded: Bool = false) {
        self.value = value
        self.isFolded = isFolded
    }

    /// The extents of the blob as Core ML counts them.
    var shape: [Int?] {
        isFolded ? [value.shape[0], 1] + value.shape[1...] : value.shape
    }

    var rank: Int { isFolded ? 5 : value.rank }
}
