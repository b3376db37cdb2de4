import Foundation
import Teaching
import Testing

/// The classes of a taught model, read while another process uses its folder.
@Suite struct TaughtGlanceTests {
    let folder = TemporaryFolder()

    @Test("the classes of the version that serves are read without the folder's lock, and nothing is changed")
    func classesAreReadWhileTheFolderIsInUse() throws {
        let store = try TaughtStore(folder: folder.path)
        let model = try store.create("parts", .test, dimension: 2, .fixed(.nearestMean)).model
        #expect(try #require(try TaughtGlance("parts", in: folder.path)).labels == [])
        _ = try model.teach([.init("1", "nut", [1, 0]), .init("2", "bolt", [0, 1])], time: 1)
        _ = try model.teach([.init("3", "washer", [1, 1])], time: 2)
        let newest = try #require(try TaughtGlance("parts", in: folder.path))
        #expect(newest.version == 2 && newest.labels == ["bolt", "nut", "washer"])
        try model.serve(1)
        let older = try #require(try TaughtGlance("parts", in: folder.path + "/"))
        #expect(older.version == 1 && older.labels == ["bolt", "nut"])
        // A record that is being written.
        let journal = URL(fileURLWithPath: folder.path + "/parts/journal")
        let bytes = try Data(contentsOf: journal)
        try bytes.dropLast(3).write(to: journal)
        #expect(try #require(try TaughtGlance("parts", in: folder.path)).version == 2)
        #expect(try Data(contentsOf: journal) == bytes.dropLast(3))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/parts") == ["journal"])
    }

    @Test("a name without a taught model has none, and names that are no names never reach the file system")
    func otherNames_haveNone() throws {
        _ = try TaughtStore(folder: folder.path)
        for name in ["nothing", "", ".", "..", "../parts", ".lock"] {
            #expect(try TaughtGlance(name, in: folder.path) == nil)
        }
        try FileManager.default.createDirectory(atPath: folder.path + "/broken", withIntermediateDirectories: true)
        try Data("no journal".utf8).write(to: URL(fileURLWithPath: folder.path + "/broken/journal"))
        #expect(throws: TeachingError.self) { try TaughtGlance("broken", in: folder.path) }
    }
}
