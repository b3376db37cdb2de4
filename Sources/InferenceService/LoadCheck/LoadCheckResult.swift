internal import FoundationEssentials
internal import Inference

/// The report of a process that tries a model to the one that started it: one line of its output, behind a mark, for
/// engines write to the terminal what they like.
struct LoadCheckResult: Codable, Sendable {
    struct Problem: Codable, Sendable {
        var path: String
        var reason: String
    }

    /// True if it was compiled rather than found in the cache.
    var compiledAnew = false
    /// The nanoseconds that the comparison of two engines took.
    var engineComparison: UInt64 = 0
    /// True if the engine could not start its threads, which is not the model's fault.
    var hadNoThreads = false
    /// The problems of the model; empty for a model that works.
    var problems: [Problem] = []
    /// The appearance of the outputs, where that was asked.
    var probe: OutputProbe?

    private static let mark = "ocelli-load-check: "

    /// The line.
    func line() throws -> String {
        Self.mark + String(decoding: try JSONEncoder().encode(self), as: UTF8.self)
    }

    /// The result in the output of a process, if it came so far.
    init?(output: String) {
        guard let line = output.split(whereSeparator: \.isNewline).last(where: { $0.hasPrefix(Self.mark) }),
            let result = try? JSONDecoder().decode(Self.self, from: Data(line.dropFirst(Self.mark.count).utf8))
        else { return nil }
        self = result
    }

    init() {}
}
