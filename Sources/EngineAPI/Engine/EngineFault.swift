/// An operator of a file that the first engine is known to compute wrongly without an error. The file is refused if the
/// runtime of its format can neither confirm the answers nor run it.
package struct EngineFault: Sendable, Hashable {
    /// A clause: `drops the fused RELU of TRANSPOSE_CONV`.
    package let clause: String
    /// True if the runtime of the format computes it wrongly too, so that its agreement proves nothing.
    package let isShared: Bool
    /// True if the first engine is wrong only where axes are open.
    package let isOfOpenAxes: Bool

    package init(_ clause: String, isShared: Bool = false, isOfOpenAxes: Bool = false) {
        self.clause = clause
        self.isShared = isShared
        self.isOfOpenAxes = isOfOpenAxes
    }
}
