/// The reason that a Core ML file cannot be served, with its location.
///
/// `place` is a readable path in the file, as in `layers[12] "conv3"`; empty for the file as a whole.
package struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
    package var place: String
    package var message: String

    package init(_ message: String, at place: String = "") {
        self.place = place
        self.message = message
    }

    package var description: String { place.isEmpty ? message : "\(place): \(message)" }

    /// The problem with `outer` in front of its location.
    package func inside(_ outer: String) -> Problem {
        Problem(message, at: place.isEmpty ? outer : "\(outer).\(place)")
    }
}

/// All problems of a Core ML file: at least one, in the order of the file.
package struct ImportError: Error, Hashable, Sendable, CustomStringConvertible {
    package var problems: [Problem]

    package init(_ problems: [Problem]) {
        self.problems = problems
    }

    package var description: String { problems.map(\.description).joined(separator: "\n") }
}

/// Collects problems, so that all problems of a file are reported together.
package struct ProblemCollector {
    package private(set) var problems: [Problem] = []
    private var omitted = 0
    /// The maximum number of problems reported: a damaged file could have one for each layer.
    private static let limit = 100

    package init() {}

    /// The number of problems, including those not reported.
    package var count: Int { problems.count + omitted }

    package mutating func add(_ problem: Problem) {
        if problems.count < Self.limit { problems.append(problem) } else { omitted += 1 }
    }

    /// Runs `body`; if it throws, records the problem with `place` in front and returns `nil`.
    package mutating func collect<Result>(at place: String, _ body: () throws(Problem) -> Result) -> Result? {
        do throws(Problem) {
            return try body()
        } catch {
            add(place.isEmpty ? error : error.inside(place))
            return nil
        }
    }

    /// Throws the collected problems, if any.
    package func finish() throws(ImportError) {
        guard !problems.isEmpty else { return }
        throw ImportError(omitted == 0 ? problems : problems + [Problem("\(omitted) more problems are not listed")])
    }
}

/// Runs a throwing call and puts `place` in front of its problem: `try located("weights") { … }`.
package func located<Result>(_ place: String, _ body: () throws(Problem) -> Result) throws(Problem) -> Result {
    do throws(Problem) {
        return try body()
    } catch {
        throw error.inside(place)
    }
}
