import Foundation

/// The selection of tests that take long: in CI and `make test-all` all of them run once (TEST_LONG=once), in
/// `.ci/nightly` with long repetitions (TEST_LONG=repeat). `make test` runs the shorter forms of some, and skips the
/// others.
public enum LongTests {
    private static let form = ProcessInfo.processInfo.environment["TEST_LONG"]

    /// True if long tests run: the condition of `.enabled(if:)`.
    public static let areEnabled = form != nil

    /// The reason of a skipped test.
    public static let absence = "takes long: `make test-all` runs it"

    /// True if tests with clusters of Ray, Spark and Dask run: with all long tests, unless TEST_CLUSTERS is `no`.
    public static let haveClusters = areEnabled && ProcessInfo.processInfo.environment["TEST_CLUSTERS"] != "no"

    /// The reason of a skipped test with clusters.
    public static let clusterAbsence = "takes minutes: `make test-all` and .ci/nightly run it"

    /// The number of repetitions of a test that finds failures by chance.
    public static func times(_ short: Int, long: Int) -> Int { areEnabled && form != "once" ? long : short }

    /// All cases of a table, or every `step`-th one from the first: most faults show in several cases.
    public static func every<Cases: Collection>(_ step: Int, of cases: Cases) -> [Cases.Element] {
        areEnabled ? Array(cases) : cases.enumerated().filter { $0.offset % step == 0 }.map(\.element)
    }
}
