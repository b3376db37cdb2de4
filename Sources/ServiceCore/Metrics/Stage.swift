/// The stages of a classified picture, in order: those of `Server-Timing`, and their total.
package enum Stage: Int, Sendable, CaseIterable {
    case recv, queue, decode, infer, postprocess, encode, total

    /// The value of the label `stage`.
    var name: String { "\(self)" }
}
