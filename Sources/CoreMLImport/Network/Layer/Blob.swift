/// An input or output of a layer: a value, and its relation to a Core ML blob.
///
/// Old networks have only blobs of five axes, [Seq, B, C, H, W]. B is always 1, because the description cannot declare
/// another batch, and the engine is fastest with four axes: such blobs are `folded` to [Seq, C, H, W]. Axes counted
/// from the end are the same in both forms.
struct Blob {
    let value: Graph.Value
    /// True if the value [Seq, C, H, W] represents [Seq, 1, C, H, W].
    let isFolded: Bool

    init(_ value: Graph.Value, isFolded: Bool = false) {
        self.value = value
        self.isFolded = isFolded
    }

    /// The extents of the blob in Core ML's terms.
    var shape: [Int?] {
        isFolded ? [value.shape[0], 1] + value.shape[1...] : value.shape
    }

    var rank: Int { isFolded ? 5 : value.rank }
}
