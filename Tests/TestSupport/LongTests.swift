import Foundation

/// Tests that take long. They run in CI and with `make test-all`; `make test` has the shorter forms of some, and leaves
/// out the others.
public enum LongTests {
    /// True if they are asked for: the condition of `.enabled(if:)`.
    public static let areAskedFor = ProcessInfo.processInfo.environment["TEST_LONG"] != nil

    /// The words of one that is skipped.
    public static let absence = "takes long: `make test-all` runs it"

    /// The repetitions of what goes wrong by chance only.
    public static func times(_ short: Int, long: Int) -> Int { areAskedFor ? long : short }

    /// All cases of a table, or one in `step` of them, from the first on: what a change breaks mostly shows in several.
    public static func every<Cases: Collection>(_ step: Int, of cases: Cases) -> [Cases.Element] {
        areAskedFor ? Array(cases) : cases.enumerated().filter { $0.offset % step == 0 }.map(\.element)
    }
}
