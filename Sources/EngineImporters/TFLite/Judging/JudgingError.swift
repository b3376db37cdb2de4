internal import FileFormats

/// The reason that LiteRT cannot run a file or judge other engines on it, as a clause: "it has no subgraph".
package struct JudgingError: Error, Sendable, Hashable {
    package let reason: String

    init(_ reason: String) { self.reason = reason }

    /// The value of an expression that reads a file; a problem of the file is thrown as a clause.
    static func reading<T>(_ value: @autoclosure () throws(FormatError) -> T) throws(JudgingError) -> T {
        do throws(FormatError) {
            return try value()
        } catch {
            throw JudgingError("it \(error.reason)")
        }
    }
}
