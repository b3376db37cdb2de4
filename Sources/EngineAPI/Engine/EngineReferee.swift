/// The runtime of a file's own format, with which the answers of the first engine are compared.
package struct EngineReferee: Sendable {
    /// The engine that the answers are compared with, and that runs the file if the first engine does not.
    package let engine: any Engine
    /// The runtime with other kernels: rounding explains differences as large as those between the two. Nil if the
    /// runtime has one set of kernels for this file.
    package var variant: (any Engine)?
    /// The valid inputs and the differences of correct kernels, as far as the file's operators imply them.
    package var traits = FileTraits()
    /// The reason a difference from the referee proves nothing; nil if it proves that the first engine is wrong.
    package var disclaimer: String?
    /// The operator that the first engine is known to compute wrongly; nil if none is known in the file.
    package var fault: EngineFault?
    /// True if the runtime crashes on some damaged files: it then judges in the process of the load check, and runs in
    /// this process only what passed there.
    package var isFragile = false
    /// The parts of the file, which are compared one after the other because errors hide in the rounding of a whole
    /// network; nil if the whole file is compared.
    package var parts: (any FileParts)?

    /// A referee with one set of kernels.
    package init(_ engine: any Engine) { self.engine = engine }
}

/// The parts of a model file, each a model file of its own, in the order of execution.
package protocol FileParts: Sendable {
    var count: Int { get }
    /// The operators of a part, for messages.
    func operators(of part: Int) -> String
    /// The indices of the tensors that a part reads, in the order of its inputs; and of those that it computes for
    /// later parts and for the model's outputs, in the order of its outputs. The first part's inputs include the
    /// model's.
    func tensors(of part: Int) -> (inputs: [Int], outputs: [Int])
    /// The tensors of the model's inputs, in the order of the file.
    var modelInputs: [Int] { get }
    /// The reason a difference in this part proves nothing; nil if it proves an error.
    func disclaimer(of part: Int) -> String?
    /// Calls `body` with the path of a file that holds the part, which is removed afterwards. Blocks.
    func withFile<R>(of part: Int, _ body: (String) throws(EngineError) -> R) throws(EngineError) -> R
}
