import Foundation
import SystemSupport
import Testing

@Suite struct SystemThreadTests {
    private static var threads: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0
    }

    /// The limit of a group that counts threads is tested with a real one: OperationsTests.
    @Test("checking that threads can be started leaves no threads behind", arguments: [0, 1, 40, 256, 1000])
    func threadsThatCanBeStartedAreGoneAfterwards(count: Int) {
        let before = Self.threads
        #expect(SystemThread.canStart(count))
        // Those of other tests come and go.
        #expect(count < 40 || Self.threads < before + count / 2)
    }
}
