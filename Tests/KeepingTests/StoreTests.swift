import Foundation
import Glibc
import Keeping
import SystemSupport
import TestSupport
import Testing

@Suite struct KeptStoreTests {
    @Test("a picture is kept once, with the bytes as sent, and with all reasons of its model")
    func picturesAreKeptOnce() throws {
        let folder = Scratch(), observer = Observer()
        let store = try observer.store(folder)
        store.keep("a")
        store.keep("a")
        store.keep("a", [.disagree])
        store.keep("a", model: "other", [.unknown])
        store.keep("b", model: "other", [.unknown])
        #expect(folder.names == [Digest.b, Digest.b + ".json", Digest.a, Digest.a + ".json"].sorted())
        #expect(folder.contents(Digest.a) == Data("a".utf8))
        #expect(store.shelf.picture(Digest.a)?.listed == ["uncertain", "disagree"])
        #expect(observer.kept == ["parts: uncertain", "parts: disagree", "other: unknown"])
        #expect(observer.dropped.isEmpty)
        #expect(store.usage.bytes == folder.bytes && store.usage.pictures == 2)
        #expect(store.read(Digest.a)?.bytes == Array("a".utf8))
        #expect(store.read(Digest.c) == nil)
        for name in folder.names + [".ocelli-kept"] {
            let mode = try FileManager.default.attributesOfItem(atPath: folder.path + "/" + name)[.posixPermissions]
            #expect(mode as? Int == 0o600)
        }
        let mode = try FileManager.default.attributesOfItem(atPath: folder.path)[.posixPermissions]
        #expect(mode as? Int == 0o700)
    }

    @Test("a restart finds the pictures again, and the rate goes on")
    func aRestartFindsThePictures() throws {
        let folder = Scratch(), observer = Observer()
        do {
            let store = try observer.store(folder, rate: 2)
            store.keep("a", [.unknown, .uncertain])
            observer.advance(milliseconds: 1_000)
            store.keep("b")
        }
        let ids = [Digest.b, Digest.a]
        // The thread of the first store ends, and with it the lock, a moment later.
        let store = try #require(try reopened(folder, observer, rate: 2))
        #expect(store.ids == ids)
        #expect(store.shelf.picture(Digest.a)?.listed == ["uncertain", "unknown"])
        #expect(store.usage.bytes == folder.bytes)
        observer.advance(milliseconds: 58_999)
        store.keep("c")
        #expect(observer.dropped == ["rate"])
        observer.advance(milliseconds: 1)
        store.keep("c")
        #expect(store.ids == [Digest.c] + ids)
        store.keep("d")
        #expect(observer.dropped == ["rate", "rate"])
    }

    private func reopened(_ folder: Scratch, _ observer: Observer, rate: Int = 1_000) throws -> KeptStore? {
        for _ in 0..<1_000 {
            if let store = try? observer.store(folder, rate: rate) { return store }
            usleep(10_000)
        }
        return nil
    }

    @Test("the oldest go first, within the bytes of all files and the days")
    func theOldestGoFirst() throws {
        let folder = Scratch(), observer = Observer()
        let store = try observer.store(folder)
        for text in ["a", "b", "c"] {
            observer.advance(milliseconds: 1)
            store.keep(text)
        }
        let each = folder.bytes / 3
        store.use(KeptShelf.Limits(bytes: 3 * each, days: 30, rate: 1_000))
        observer.advance(milliseconds: 1)
        store.keep("d")
        #expect(store.ids == [Digest.d, Digest.c, Digest.b])
        #expect(folder.names.count == 6 && folder.bytes <= 3 * each)
        store.use(KeptShelf.Limits(bytes: each, days: 30, rate: 1_000))
        store.flush()
        #expect(store.ids == [Digest.d])
        store.keep(String(repeating: "x", count: each))
        #expect(observer.dropped == ["too_large"] && store.ids == [Digest.d])
        observer.advance(milliseconds: 30 * 86_400_000 + 1)
        store.flush()
        #expect(folder.names.isEmpty)
    }

    @Test("a full queue drops and counts, and an offer does not wait")
    func aFullQueueDrops() throws {
        let folder = Scratch(), observer = Observer(), release = DispatchSemaphore(value: 0)
        let store = try observer.store(folder, gate: KeepingGate(rate: 0, maximumWaiting: 3, maximumBytes: 100))
        // The thread waits in the middle of its work, as for a disk that does not answer.
        _ = store.offer(
            KeepingOffer(model: "parts", version: "1", reasons: [.uncertain], byteCount: 1) {
                release.wait()
                return KeepingOffer.Content(bytes: Array("a".utf8), type: "image/png")
            })
        for text in ["b", "c", "d", "e"] { _ = store.offer(.text(text)) }
        #expect(observer.dropped == ["queue_full", "queue_full"])
        #expect(store.ids.isEmpty)
        release.signal()
        store.flush()
        #expect(Set(store.ids) == [Digest.a, Digest.b, Digest.c])
        store.keep("d")
        #expect(store.ids.count == 4)
    }

    @Test("what is removed is in no file, also what waited")
    func removedPicturesAreGone() throws {
        let folder = Scratch(), observer = Observer()
        let store = try observer.store(folder)
        for (text, model) in [("a", "one"), ("b", "one"), ("c", "two")] { store.keep(text, model: model) }
        _ = store.offer(.text("d"))
        #expect(try store.remove([Digest.a, Digest.d, Digest.e]) == 2)
        #expect(folder.names == [Digest.b, Digest.b + ".json", Digest.c, Digest.c + ".json"].sorted())
        _ = store.offer(.text("e", model: "two"))
        #expect(try store.remove { $0.model == "two" } == 2)
        #expect(folder.names == [Digest.b, Digest.b + ".json"] && store.ids == [Digest.b])
        store.keep("a")
        #expect(store.ids.contains(Digest.a))
    }

    @Test("files that a kill left are removed at the start, and damaged ones with a sentence")
    func leftFilesAreRemoved() throws {
        let folder = Scratch(), observer = Observer()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        func write(_ name: String, _ text: String) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path + "/" + name))
        }
        let record = { (bytes: Int) in
            "{\"model\":\"m\",\"version\":\"1\",\"why\":[\"unknown\"],\"time\":1699999999000,\"bytes\":\(bytes),\"type\":\"image/png\"}"
        }
        try write(".ocelli-kept", "")
        // Unfinished: the picture, its record, the picture without its record.
        try write(Digest.a + ".new", "a")
        try write(Digest.b + ".json.new", record(1))
        try write(Digest.b, "b")
        // Damaged: a record without a picture, of another length, that is no JSON.
        try write(Digest.c + ".json", record(1))
        try write(Digest.d, "ddd")
        try write(Digest.d + ".json", record(1))
        try write(Digest.e, "e")
        try write(Digest.e + ".json", "{\"model\":")
        // Of others.
        try write("notes.txt", "mine")
        let store = try observer.store(folder)
        #expect(folder.names == ["notes.txt"])
        #expect(store.ids.isEmpty && store.usage.bytes == 0)
        #expect(observer.notices.count == 1 && observer.notices[0].contains("3 kept pictures were damaged"))
        // Bytes that change later are found when they are read.
        store.keep("a")
        try write(Digest.a, "x")
        #expect(store.read(Digest.a) == nil)
        #expect(folder.names == ["notes.txt"] && store.ids.isEmpty)
    }

    @Test("a folder of another owner is refused, and one that is in use")
    func otherFoldersAreRefused() throws {
        let folder = Scratch(), observer = Observer()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        try Data("a".utf8).write(to: URL(fileURLWithPath: folder.path + "/" + Digest.a))
        #expect(throws: KeepingError.self) { try observer.store(folder) }
        #expect(folder.names == [Digest.a])
        let own = Scratch(), first = try observer.store(own)
        #expect(throws: KeepingError.self) { try observer.store(own) }
        first.keep("a")
    }

    @Test("bytes that are no picture are dropped")
    func otherBytesAreDropped() throws {
        let folder = Scratch(), observer = Observer()
        let store = try observer.store(folder)
        _ = store.offer(
            KeepingOffer(model: "parts", version: "1", reasons: [.unknown], byteCount: 1, read: { nil }))
        store.flush()
        #expect(observer.dropped == ["no_picture"] && folder.names.isEmpty)
    }
}
