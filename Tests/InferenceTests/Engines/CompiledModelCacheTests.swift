import Foundation
import Inference
import TestSupport
import Testing

@Suite struct CompiledModelCacheTests {
    @Test("pruning the cache to a size removes the oldest compiled models and keeps other files")
    func theCacheIsPrunedOldestFirst() throws {
        let folder = try TemporaryFolder()
        for (index, name) in ["a.blob", "b.blob", "c.blob", "keep.txt"].enumerated() {
            let file = folder.url.appendingPathComponent(name)
            try Data(count: 1000).write(to: file)
            let times = [
                timeval(tv_sec: 1_000_000 + index, tv_usec: 0), timeval(tv_sec: 1_000_000 + index, tv_usec: 0),
            ]
            #expect(utimes(file.path, times) == 0)
        }
        let pruned = CompiledModelCache.prune(folder.url.path, to: 1500)
        #expect(pruned.files == 2)
        #expect(pruned.bytes == 2000)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted() == ["c.blob", "keep.txt"])
        #expect(CompiledModelCache.prune(AbsentPath.path, to: 0).files == 0)
    }

    /// Otherwise a model would silently change its engine.
    @Test("pruning the cache removes compiled models before the older decisions on engines")
    func choicesOfEnginesGoLast() throws {
        let folder = try TemporaryFolder()
        for (index, name) in ["a.engine", "b.engine", "c.blob", "d.answers"].enumerated() {
            let file = folder.url.appendingPathComponent(name)
            try Data(count: 100).write(to: file)
            let time = timeval(tv_sec: 1_000_000 + index, tv_usec: 0)
            #expect(utimes(file.path, [time, time]) == 0)
        }
        #expect(CompiledModelCache.prune(folder.url.path, to: 250).files == 2)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted() == ["a.engine", "b.engine"])
        #expect(CompiledModelCache.prune(folder.url.path, to: 150).files == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["b.engine"])
    }

    /// Removing a link or folder would not free the bytes.
    @Test("links and folders named .blob neither count for the cache's size nor are removed")
    func onlyFilesCount() throws {
        let folder = try TemporaryFolder(), elsewhere = try TemporaryFolder()
        let large = elsewhere.url.appendingPathComponent("large")
        try Data(count: 1 << 20).write(to: large)
        try Data(count: 1000).write(to: folder.url.appendingPathComponent("a.blob"))
        try FileManager.default.createSymbolicLink(
            at: folder.url.appendingPathComponent("link.blob"), withDestinationURL: large)
        try FileManager.default.createDirectory(
            at: folder.url.appendingPathComponent("folder.blob"), withIntermediateDirectories: true)
        #expect(CompiledModelCache.prune(folder.url.path, to: 1000).files == 0)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted()
                == ["a.blob", "folder.blob", "link.blob"])
    }
}
