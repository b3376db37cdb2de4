internal import FoundationEssentials
package import Inference

/// The result that the process of a load check reports to its parent: one line of its output, with a mark, because
/// engines write other text to it.
package struct LoadCheckResult: Codable, Sendable {
    package struct Problem: Codable, Sendable {
        package var path: String
        package var reason: String

        package init(path: String, reason: String) {
            self.path = path
            self.reason = reason
        }
    }

    /// True if the model was compiled rather than found in the cache.
    package var compiledAnew = false
    /// The duration of the comparison of two engines in nanoseconds.
    package var engineComparison: UInt64 = 0
    /// The decisions on engines that the process has made or found, by the digest of the files.
    package var decisions: [String: EngineMemory.Decision] = [:]
    /// True if the engine could not start its threads, which is not the model's fault.
    package var hadNoThreads = false
    /// The problems of the model; empty if it works.
    package var problems: [Problem] = []
    /// The facts about the outputs, for runs on noise.
    package var probe: OutputProbe?

    private static let mark = "ocelli-load-check: "

    /// The line of the output.
    package func line() throws -> String {
        Self.mark + String(decoding: try JSONEncoder().encode(self), as: UTF8.self)
    }

    /// The result in the output of a process; nil if it did not get so far.
    init?(output: String) {
        guard let line = output.split(whereSeparator: \.isNewline).last(where: { $0.hasPrefix(Self.mark) }),
            let result = try? JSONDecoder().decode(Self.self, from: Data(line.dropFirst(Self.mark.count).utf8))
        else { return nil }
        self = result
    }

    package init() {}
}
