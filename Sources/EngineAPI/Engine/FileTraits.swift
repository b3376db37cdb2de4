/// The traits of a model file that its operators imply, for a comparison of two engines: which made-up inputs are
/// valid, and which differences of answers correct kernels have.
package struct FileTraits: Sendable, Hashable {
    /// True if intermediate values are rounded to integers of 8 or 16 bits: the answers of correct kernels then differ
    /// as they do for an input that has changed by one step.
    package var computesInIntegers = false
    /// True if values are only selected, compared and moved, so that equal values stay equal, and the format defines
    /// which of them is taken.
    package var selectsOnly = false
    /// True if integer inputs are operands of arithmetic and nothing else: every value is valid, except that 0 may be a
    /// divisor.
    package var takesAnyInteger = false
    /// True if the format requires that NaN in an input is not lost, and no operator uses a number as a place in
    /// memory.
    package var keepsNaN = false
    /// The rounding of correct kernels, as a fraction of the root mean square of an output of floating-point numbers.
    package var rounding = 1e-4

    /// A file with nothing known of its operators: the defaults make no assumption that could condemn an engine.
    package init() {}
}
