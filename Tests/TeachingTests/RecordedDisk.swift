import Foundation
import TestSupport

/// A call that changed files, as `Fixtures/power.c` records it.
enum DiskRecord {
    case create(file: String, path: String)
    case write(file: String, offset: Int, [UInt8])
    case size(file: String, Int)
    case sync(file: String)
    case folder(String)
    case syncFolder(String)
    case rename(String, String)
    case remove(String)
    case output([UInt8])

    struct Malformed: Error { let line: String }

    static func read(_ bytes: [UInt8]) throws -> [DiskRecord] {
        var records: [DiskRecord] = [], place = 0
        while place < bytes.count {
            guard let end = bytes[place...].firstIndex(of: 10) else { throw Malformed(line: "no end") }
            let line = String(decoding: bytes[place..<end], as: UTF8.self)
            place = end + 1
            let words = line.split(separator: " ").map(String.init), numbers = words.map { Int($0) ?? 0 }
            func take(_ count: Int) throws -> [UInt8] {
                guard count <= bytes.count - place else { throw Malformed(line: line) }
                defer { place += count }
                return Array(bytes[place..<place + count])
            }
            func path(_ count: Int) throws -> String { String(decoding: try take(count), as: UTF8.self) }
            switch (words.first, words.count) {
            case ("create", 3): records.append(.create(file: words[1], path: try path(numbers[2])))
            case ("write", 4): records.append(.write(file: words[1], offset: numbers[2], try take(numbers[3])))
            case ("size", 3): records.append(.size(file: words[1], numbers[2]))
            case ("sync", 2): records.append(.sync(file: words[1]))
            case ("folder", 2): records.append(.folder(try path(numbers[1])))
            case ("sync-folder", 2): records.append(.syncFolder(try path(numbers[1])))
            case ("rename", 3): records.append(.rename(try path(numbers[1]), try path(numbers[2])))
            case ("remove", 2): records.append(.remove(try path(numbers[1])))
            case ("output", 2): records.append(.output(try take(numbers[1])))
            default: throw Malformed(line: line)
            }
        }
        return records
    }
}

/// A folder on a disk that keeps what was synced. Of the calls after the last sync of a file, a power failure leaves
/// some sectors; of those after the last sync of a folder, the first ones.
struct RecordedDisk {
    private static let sector = 512

    private final class File {
        var synced: [UInt8] = []
        var pending: [(inout [UInt8], (Int) -> Bool) -> Void] = []
    }

    private final class Folder {
        var synced: [String: Node] = [:]
        var pending: [(inout [String: Node]) -> Void] = []

        var now: [String: Node] {
            var entries = synced
            for change in pending { change(&entries) }
            return entries
        }
    }

    private enum Node {
        case file(File)
        case folder(Folder)
    }

    private let path: String
    private let root = Folder()
    private var files: [String: File] = [:]
    /// The number of lines that the process has written.
    private(set) var acknowledged = 0
    /// True if something is not synced.
    var hasPending: Bool { Self.hasPending(root) }

    init(folder: String) { path = folder }

    private static func hasPending(_ folder: Folder) -> Bool {
        !folder.pending.isEmpty
            || folder.now.values.contains { node in
                switch node {
                case .file(let file): !file.pending.isEmpty
                case .folder(let folder): hasPending(folder)
                }
            }
    }

    /// The folder that contains a path, and the name there; nil for the root.
    private func entry(_ path: String) -> (folder: Folder, name: String)? {
        var names = path.dropFirst(self.path.count).split(separator: "/").map(String.init), folder = root
        guard let last = names.popLast() else { return nil }
        for name in names {
            guard case .folder(let next)? = folder.now[name] else { return nil }
            folder = next
        }
        return (folder, last)
    }

    mutating func apply(_ record: DiskRecord) {
        switch record {
        case .create(let number, let path):
            let file = File()
            files[number] = file
            add(.file(file), at: path)
        case .write(let number, let offset, let bytes):
            files[number]?.pending.append { content, hasSector in
                for (index, byte) in bytes.enumerated() where hasSector((offset + index) / Self.sector) {
                    if content.count <= offset + index {
                        content += [UInt8](repeating: 0, count: offset + index + 1 - content.count)
                    }
                    content[offset + index] = byte
                }
            }
        case .size(let number, let size):
            files[number]?.pending.append { content, hasSector in
                guard hasSector(-1) else { return }
                content =
                    Array(content.prefix(size)) + [UInt8](repeating: 0, count: max(0, size - content.count))
            }
        case .sync(let number):
            guard let file = files[number] else { return }
            for change in file.pending { change(&file.synced) { _ in true } }
            file.pending = []
        case .folder(let path): add(.folder(Folder()), at: path)
        case .syncFolder(let path):
            let folder: Folder
            if let (parent, name) = entry(path) {
                guard case .folder(let found)? = parent.now[name] else { return }
                folder = found
            } else {
                folder = root
            }
            folder.synced = folder.now
            folder.pending = []
        case .rename(let from, let to):
            guard let (folder, old) = entry(from), let (_, new) = entry(to) else { return }
            folder.pending.append { entries in
                entries[new] = entries[old]
                entries[old] = nil
            }
        case .remove(let path):
            guard let (folder, name) = entry(path) else { return }
            folder.pending.append { $0[name] = nil }
        case .output(let bytes): acknowledged += bytes.count { $0 == 10 }
        }
    }

    private func add(_ node: Node, at path: String) {
        guard let (folder, name) = entry(path) else { return }
        folder.pending.append { $0[name] = node }
    }

    /// Writes files that a power failure can leave: everything, what was synced, or any state between these.
    func writeRemains(to path: String, _ random: inout SplitMix) throws {
        try Self.write(root, to: path, loss: Int.random(in: 0...3, using: &random), &random)
    }

    private static func write(_ folder: Folder, to path: String, loss: Int, _ random: inout SplitMix) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        var entries = folder.synced
        for change in folder.pending.prefix(count(of: folder.pending.count, loss, &random)) { change(&entries) }
        for (name, node) in entries.sorted(by: { $0.key < $1.key }) {
            switch node {
            case .folder(let folder): try write(folder, to: path + "/" + name, loss: loss, &random)
            case .file(let file):
                var content = file.synced
                let whole = count(of: file.pending.count, loss, &random)
                for (index, change) in file.pending.enumerated() {
                    var seeds = SplitMix(seed: random.next())
                    let salt = seeds.next()
                    change(&content) { sector in
                        var choice = SplitMix(seed: salt ^ UInt64(bitPattern: Int64(sector)))
                        return index < whole || loss > 1 && choice.chance(50)
                    }
                }
                try Data(content).write(to: URL(fileURLWithPath: path + "/" + name))
            }
        }
    }

    /// The number of calls that are kept as a whole: all, none, or any number.
    private static func count(of all: Int, _ loss: Int, _ random: inout SplitMix) -> Int {
        switch loss {
        case 0: all
        case 1: 0
        default: Int.random(in: 0...all, using: &random)
        }
    }
}
