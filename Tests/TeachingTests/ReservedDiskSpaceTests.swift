import Foundation
import Teaching
import TestSupport
import Testing

/// The disk space that is kept for requests that forget.
@Suite struct ReservedDiskSpaceTests {
    private static func size(_ folder: TemporaryFolder) throws -> Int {
        let path = folder.path + "/.reserve"
        guard FileManager.default.fileExists(atPath: path) else { return 0 }
        return try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }

    @Test("a smaller reserve that was computed before more was reserved does not take that away")
    func aShrinkBesideAHold() throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let room = ReservedDiskSpace(folder: folder.path)
        try room.hold(40_000)
        let holds = room.holds
        try room.hold(100_000)
        try room.set(10, since: holds)
        #expect(try Self.size(folder) >= 100_000)
        try room.set(10, since: room.holds)
        #expect(try Self.size(folder) < 100_000)
        try room.set(0, since: room.holds)
        #expect(try Self.size(folder) == 0)
    }
}
