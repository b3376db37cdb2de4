/// A reason why a Core ML file cannot be served, with its location.
///
/// `place` is a path in the file as a person would write it: `layers[12] "conv3"`. It is empty for the file as a whole.
package struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
    package var place: String
    package var message: String

    package init(_ message: String, at place: String = "") {
        self.place = place
        self.message = message
    }

    package var description: String { place.isEmpty ? message : "\(place): \(message)" }

    /// The same problem, seen from the part of the file that holds its place.
    package func inside(_ outer: String) -> Problem {
        Problem(message, at: place.isEmpty ? outer : "\(outer).\(place)")
    }
}

/// Everything that is wrong with a Core ML file: at least one problem, in the order of the file.
package struct ImportError: Error, Hashable, Sendable, CustomStringConvertible {
    package var problems: [Problem]

    package init(_ problems: [Problem]) {
        self.problems = problems
    }

    package var description: String { problems.map(\.description).joined(separator: "\n") }
}

/// Collects problems, so that all of a file's are reported at once.
package struct ProblemCollector {
    package private(set) var problems: [Problem] = []
    private var omitted = 0
    /// A damaged file can have one problem for each of its layers; more than this many are of no use.
    private static let limit = 100

    package init() {}

    /// The number of problems, including those that are not listed.
    package var count: Int { problems.count + omitted }

    package mutating func add(_ problem: Problem) {
        if problems.count < Self.limit { problems.append(problem) } else { omitted += 1 }
    }

    /// Runs `body`; where it throws, the problem is recorded with `place` in front, and `nil` returned.
    package mutating func collect<Result>(at place: String, _ body: () throws(Problem) -> Result) -> Result? {
        do throws(Problem) {
            return try body()
        } catch {
            add(place.isEmpty ? error : error.inside(place))
            return nil
        }
    }

    /// Throws what was collected, if anything.
    package func finish() throws(ImportError) {
        guard !problems.isEmpty else { return }
        throw ImportError(omitted == 0 ? problems : problems + [Problem("\(omitted) more problems are not listed")])
    }
}

/// A throwing call whose problems are placed: `try located("weights") { … }`.
package func located<Result>(_ place: String, _ body: () throws(Problem) -> Result) throws(Problem) -> Result {
    do throws(Problem) {
        return try body()
    } catch {
        throw error.inside(place)
    }
}
