internal import Glibc
internal import SystemSupport

/// The file of a taught model's journal: records with their lengths and digests. Records are appended and synced, or
/// the file is rewritten under another name and renamed. After a kill at any time it contains all acknowledged records,
/// and possibly the one after them. Each record was synced before the next one was written, so only the last one can be
/// torn; an error before a complete record is damage.
struct JournalFile {
    /// The first bytes of the file.
    private static let start = Array("Ocelli taught model 1\n".utf8)
    /// The bytes before each record: its length (4 bytes), the complement of the length, and the first 8 bytes of the
    /// record's digest.
    private static let headLength = 16
    /// The maximum length of a record: a form with many pictures.
    private static let longestRecord = 256 << 20
    /// The minimum length of a record of a change: another version is served.
    private static let shortestRecord = 9
    /// The suffix of a file that will replace the journal.
    static let unfinished = ".new"

    let path: String
    /// The number of bytes that are written and synced.
    private(set) var length = 0
    /// True after a failed write that could not be undone: the contents of the file are unknown.
    private var isBroken = false
    /// True while a power failure could restore the file that this one has replaced; nothing is appended until then.
    private var isUnsynced = false

    /// Opens a file and passes its records to `record` in order. The bytes after the last complete record, from an
    /// interrupted write or damaged since, are cut off and kept in another file.
    static func open(
        _ path: String, _ room: ReservedDiskSpace, _ record: (JournalRecord) -> Bool
    ) throws(TeachingError) -> (journal: JournalFile, cut: TruncatedEnd?) {
        let file = try Descriptor(path, O_RDWR | O_CLOEXEC)
        let size = try file.size()
        var journal = JournalFile(path: path)
        journal.length = try records(of: file, size, path, record)
        guard journal.length < size else { return (journal, nil) }
        try file.seek(journal.length)
        let end = try file.read(size - journal.length)
        let cut = try TruncatedEnd(end, at: journal.length, of: path, changes: mostChanges(in: end), room)
        try file.truncate(journal.length)
        try file.sync()
        return (journal, cut)
    }

    /// Passes the complete records of a file to `record` in order, and changes nothing. The file may be in use.
    static func read(_ path: String, _ record: (JournalRecord) -> Bool) throws(TeachingError) {
        let file = try Descriptor(path, O_RDONLY | O_CLOEXEC)
        _ = try records(of: file, try file.size(), path, record)
    }

    /// Passes the complete records of a file to `record` in order. Returns their length in bytes, with the file's
    /// start.
    private static func records(
        of file: Descriptor, _ size: Int, _ path: String, _ record: (JournalRecord) -> Bool
    ) throws(TeachingError) -> Int {
        guard try file.read(start.count) == start else {
            throw .storage("\(path) is not the journal of a taught model")
        }
        var length = start.count
        while length < size {
            guard let bytes = try bytes(of: file, at: length, size) else { break }
            guard let parsed = bytes.withUnsafeBytes({ JournalRecord($0) }), record(parsed) else {
                throw .storage(
                    "\(path) has a record at byte \(length) that this version of Ocelli does not understand")
            }
            length += headLength + bytes.count
        }
        return length
    }

    /// The maximum number of change records in an end without a complete record: one if its head shows that the file
    /// ends with it.
    private static func mostChanges(in end: [UInt8]) -> Int {
        let rest = end.count - headLength
        guard rest >= 0, count(end) == nil else { return 1 }
        let lengths = [number(end.prefix(4)), ~number(end[4..<8])]
        let isOne =
            lengths.contains { Int($0) == rest }
            || SHA256.digest(Array(end.dropFirst(headLength))).prefix(8).elementsEqual(end[8..<headLength])
        return isOne ? 1 : max(1, end.count / (headLength + shortestRecord))
    }

    /// The bytes of the record at an offset; nil if a kill or a power failure has torn it.
    private static func bytes(of file: Descriptor, at place: Int, _ size: Int) throws(TeachingError) -> [UInt8]? {
        try file.seek(place)
        let head = try file.read(headLength)
        let rest = size - place - headLength
        guard let count = count(head) else {
            // A torn record cannot have another record after it, because that one was written later.
            try file.seek(place + 1)
            let later = try file.read(size)
            for next in later.indices where count(later[next...]) != nil { throw file.damage(at: place) }
            return nil
        }
        guard count <= rest else { return nil }
        let bytes = try file.read(count)
        if self.head(of: bytes) == head { return bytes }
        guard count == rest else { throw file.damage(at: place) }
        return nil
    }

    private static func head(of record: [UInt8]) -> [UInt8] {
        var writer = ByteWriter()
        writer.integer(UInt32(clamping: record.count))
        writer.integer(~UInt32(clamping: record.count))
        writer.raw(Array(SHA256.digest(record).prefix(8)))
        return writer.bytes
    }

    /// The length of the record whose head is at the start of these bytes; nil if they are not a head.
    private static func count(_ bytes: some Collection<UInt8>) -> Int? {
        let numbers = bytes.prefix(8)
        guard numbers.count == 8 else { return nil }
        let (count, complement) = (number(numbers.prefix(4)), number(numbers.suffix(4)))
        return count == ~complement && count <= longestRecord ? Int(count) : nil
    }

    private static func number(_ bytes: some Collection<UInt8>) -> UInt32 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The number of bytes that a record takes in the file.
    static func length(of record: JournalRecord) -> Int { headLength + record.bytes.count }

    /// The size of a file with these records.
    static func length(of records: [JournalRecord]) -> Int { records.reduce(start.count) { $0 + length(of: $1) } }

    /// The maximum size of a journal after a request that forgets has rewritten it. An example takes 19 bytes more than
    /// in the change that taught it, and 4 more next to an example with a name; a head per 256 examples, one per
    /// ``JournalRecord/pieceLength`` of patches, and the new version are added.
    static func mostLength(_ length: Int, examples: Int) -> Int { length + 24 * examples + 1024 + length >> 16 }

    /// Appends a record. After an error the file is unchanged.
    mutating func append(_ record: JournalRecord) throws(TeachingError) {
        guard !isBroken else {
            throw .storage("\(path) could not be written before: restart the daemon to read it again")
        }
        if isUnsynced {
            try Folders.sync(FilePath.parent(of: path))
            isUnsynced = false
        }
        let file = try Descriptor(path, O_WRONLY | O_CLOEXEC)
        let bytes = try Self.framed(record)
        do throws(TeachingError) {
            try file.seek(length)
            try file.write(bytes)
            try file.sync()
        } catch {
            do throws(TeachingError) {
                try file.truncate(length)
                try file.sync()
            } catch { isBroken = true }
            throw error
        }
        length += bytes.count
    }

    /// Writes a file with these records that replaces the existing one, which stays valid until the new one is
    /// complete.
    /// - Parameter usesReserve: true if the file may use the reserved room when the disk is full.
    /// - Returns: the new file, and an error if it is in place but a power failure may revert it.
    static func write(
        _ records: [JournalRecord], to path: String, _ room: ReservedDiskSpace, usesReserve: Bool = false
    ) throws(TeachingError) -> (journal: JournalFile, unsynced: TeachingError?) {
        let unfinished = path + Self.unfinished
        var journal = JournalFile(path: path)
        defer { if usesReserve { room.restore() } }
        do throws(TeachingError) {
            try room.write(unfinished, usesReserve: usesReserve) { file throws(TeachingError) in
                try file.write(start)
                journal.length = start.count
                for record in records {
                    let bytes = try framed(record)
                    try file.write(bytes)
                    journal.length += bytes.count
                }
            }
            try Folders.rename(unfinished, path, syncs: false)
        } catch {
            unlink(unfinished)
            throw error
        }
        do throws(TeachingError) {
            try Folders.sync(FilePath.parent(of: path))
        } catch {
            journal.isUnsynced = true
            return (journal, error)
        }
        return (journal, nil)
    }

    private static func framed(_ record: JournalRecord) throws(TeachingError) -> [UInt8] {
        let bytes = record.bytes
        guard bytes.count <= longestRecord else {
            throw .invalid("a change of \(bytes.count) bytes is too large: send fewer pictures at once")
        }
        return head(of: bytes) + bytes
    }
}
