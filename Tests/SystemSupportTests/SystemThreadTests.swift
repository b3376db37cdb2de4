import Foundation
import SystemSupport
import Testing

@Suite struct SystemThreadTests {
    private static var threads: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0
    }

    /// The limit of a control group that counts threads is tested with a real group in OperationsTests.
    @Test("checking that threads can be started leaves no threads behind", arguments: [0, 1, 40, 256, 1000])
    func threadsThatCanBeStartedAreGoneAfterwards(count: Int) {
        let before = Self.threads
        #expect(SystemThread.canStart(count))
        // Threads of other tests start and end.
        #expect(count < 40 || Self.threads < before + count / 2)
    }
}
