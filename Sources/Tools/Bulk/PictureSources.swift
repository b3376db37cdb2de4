internal import CSystem
internal import FoundationEssentials
internal import Glibc
internal import ImagePipeline
internal import Inference
internal import SystemSupport

/// The pictures of a bulk run, source by source: folders, tar archives, lists, standard input.
///
/// A value type: to continue, use the sources that a read returned.
struct PictureSources: Sendable {
    private enum Open: Sendable {
        case list(PictureList, name: String, descriptor: Int32)
        case tar(TarReader, name: String)
        /// The folders that must still be read; the next one is the last.
        case folders([String])
    }

    private var waiting: ArraySlice<String>
    private var open: Open?
    /// The folders that were read, because links may form cycles.
    private var seen: Set<[UInt64]> = []
    let shard: BulkShard?
    /// The reason why reading ended early; nil at the normal end.
    private(set) var failure: String?

    private static let maximum = 256, longestCount = 10_000_000

    /// - Parameter sources: the sources of the command line; an empty list or "-" means standard input.
    init(_ sources: [String], shard: BulkShard?) {
        waiting = (sources.isEmpty ? ["-"] : sources)[...]
        self.shard = shard
    }

    /// True if nothing is left.
    var isAtEnd: Bool { failure != nil || open == nil && waiting.isEmpty }

    /// Checks that each source can be read. Blocks.
    static func check(_ sources: [String]) throws(CommandError) {
        for source in sources where source != "-" {
            guard access(source, R_OK) == 0 else {
                throw CommandError("\(source) cannot be read: \(SystemError.words(errno))")
            }
        }
    }

    /// Reads more pictures, on a thread that may block.
    func reading() async -> (pictures: [BulkPicture], rest: PictureSources) {
        await LoaderThread.run {
            var sources = self
            let pictures = sources.read()
            return (pictures, sources)
        }
    }

    /// The total number of pictures; nil if standard input or a pipe is among the sources, or above ten million. Reads
    /// lists and headers, but no pictures. Blocks.
    static func count(_ sources: [String], shard: BulkShard?) -> Int? {
        // A pipe can be read only once, so it is left to the run.
        let isThere = sources.allSatisfy { source in
            var status = stat()
            return source != "-" && stat(source, &status) == 0 && [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
        }
        guard !sources.isEmpty, isThere else { return nil }
        var all = PictureSources(sources, shard: shard)
        var count = 0
        while !all.isAtEnd, count <= longestCount { count += all.read().count }
        return all.failure == nil && count <= longestCount ? count : nil
    }

    /// All pictures of a folder and its subfolders. Blocks.
    static func all(in folder: String) throws(CommandError) -> [BulkPicture] {
        var sources = PictureSources([folder], shard: nil)
        var pictures: [BulkPicture] = []
        while !sources.isAtEnd, pictures.count <= longestCount { pictures += sources.read() }
        if let failure = sources.failure { throw CommandError(failure) }
        return pictures
    }

    private mutating func read() -> [BulkPicture] {
        do throws(CommandError) {
            let pictures = try readOn()
            return shard.map { shard in pictures.filter { shard.has($0.name) } } ?? pictures
        } catch {
            failure = error.description
            return []
        }
    }

    private mutating func readOn() throws(CommandError) -> [BulkPicture] {
        switch open {
        case nil:
            guard let next = waiting.popFirst() else { return [] }
            var status = stat()
            if ImageFormat.isPicture(named: next), stat(next, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
                return [BulkPicture(name: next, place: .file(next))]
            }
            open = try Self.opened(next)
            return []
        case .list(var list, let name, let descriptor)?:
            let entries = list.read()
            if list.isAtEnd {
                if descriptor != STDIN_FILENO { _ = csys_close(descriptor) }
                open = nil
                if let failure = list.failure {
                    throw CommandError("\(name) cannot be read completely: \(failure)")
                }
            } else {
                open = .list(list, name: name, descriptor: descriptor)
            }
            return entries.map { entry in
                switch entry.path {
                case .success(let path): BulkPicture(name: entry.name, place: .file(path))
                case .failure(let mistake): BulkPicture(name: entry.name, place: .mistake(mistake.reason))
                }
            }
        case .tar(var tar, let name)?:
            let members = try tar.read(maximum: Self.maximum)
            open = tar.isAtEnd ? nil : .tar(tar, name: name)
            return members.filter { ImageFormat.isPicture(named: $0.name) }.map {
                BulkPicture(name: "\(name)/\($0.name)", place: .part(of: name, offset: $0.offset, count: $0.count))
            }
        case .folders(var folders)?:
            guard let folder = folders.popLast() else {
                open = nil
                return []
            }
            let (files, inner) = try entries(of: folder)
            folders += inner.reversed()
            open = .folders(folders)
            return files.map { BulkPicture(name: $0, place: .file($0)) }
        }
    }

    private static func opened(_ source: String) throws(CommandError) -> Open {
        if source == "-" {
            return .list(PictureList(descriptor: STDIN_FILENO), name: "standard input", descriptor: STDIN_FILENO)
        }
        var status = stat()
        guard stat(source, &status) == 0 else {
            throw CommandError("\(source) cannot be read: \(SystemError.words(errno))")
        }
        if status.st_mode & S_IFMT == S_IFDIR { return .folders([source]) }
        if source.lowercased().hasSuffix(".tar") { return .tar(try TarReader(path: source), name: source) }
        let descriptor = Glibc.open(source, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw CommandError("\(source) cannot be read: \(SystemError.words(errno))") }
        return .list(PictureList(descriptor: descriptor), name: source, descriptor: descriptor)
    }

    /// The pictures and subfolders of a folder, sorted, without hidden ones.
    private mutating func entries(of folder: String) throws(CommandError) -> (files: [String], folders: [String]) {
        var status = stat()
        guard stat(folder, &status) == 0 else {
            throw CommandError("\(folder) cannot be read: \(SystemError.words(errno))")
        }
        guard seen.insert([UInt64(status.st_dev), UInt64(status.st_ino)]).inserted else { return ([], []) }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: folder)
        } catch {
            throw CommandError("\(folder) cannot be read: \(UnreadableFile.reason(folder))")
        }
        var files: [String] = [], folders: [String] = []
        for name in names.sorted() where !name.hasPrefix(".") {
            let path = FilePath.start(inside: folder) + name
            guard stat(path, &status) == 0 else { continue }
            if status.st_mode & S_IFMT == S_IFDIR {
                folders.append(path)
            } else if ImageFormat.isPicture(named: name) {
                files.append(path)
            }
        }
        return (files, folders)
    }
}
