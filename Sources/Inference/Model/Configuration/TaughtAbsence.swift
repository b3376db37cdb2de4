/// The reason a taught model cannot answer a stage of a pipeline.
package struct TaughtAbsence: Error, Sendable, Equatable {
    package enum Kind: Sendable {
        /// There is no taught model of that name.
        case notFound
        /// It exists, but has no examples.
        case empty
        /// It has examples, but cannot answer now.
        case notReady
    }

    package let kind: Kind
    /// A message for the user.
    package let message: String

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    /// The absence of a taught model where none are known.
    package static func unknownHere(_ name: String) -> TaughtAbsence {
        TaughtAbsence(
            .notFound,
            "\"\(name)\" is not among the models here: if it is a taught model, only the daemon that it is taught in "
                + "(taught_dir) answers this stage")
    }
}
