internal import Glibc
internal import SystemSupport

/// The file of a taught model's journal: records with their lengths and digests, appended and synced, or rewritten
/// beside it and renamed. A kill at any instant leaves all records that were acknowledged, and perhaps the one after
/// them. Each record was synced before the next one was written, so that only the last one can be torn: what is wrong
/// before a whole record is damage.
struct JournalFile {
    /// The first bytes of the file.
    private static let start = Array("Ocelli taught model 1\n".utf8)
    /// Before each record: its length (4 bytes), the complement of that, and the first 8 bytes of the record's digest.
    private static let headLength = 16
    /// The longest record: a form of many pictures.
    private static let longestRecord = 256 << 20

    let path: String
    /// The bytes that are written and synced.
    private(set) var length = 0
    /// True after a write that failed and could not be undone: what the file holds is not known.
    private var isBroken = false

    /// The content of the file: the records, in order. What follows the last whole one, of a write that was not
    /// finished, is cut off.
    static func open(_ path: String, _ record: (JournalRecord) -> Bool) throws(TeachingError) -> JournalFile {
        let file = try Descriptor(path, O_RDWR | O_CLOEXEC)
        let size = try file.size()
        guard try file.read(Self.start.count) == Self.start else {
            throw .storage("\(path) is not the journal of a taught model")
        }
        var journal = JournalFile(path: path)
        journal.length = Self.start.count
        while journal.length < size {
            guard let bytes = try bytes(of: file, at: journal.length, size) else { break }
            guard let parsed = bytes.withUnsafeBytes({ JournalRecord($0) }), record(parsed) else {
                throw .storage(
                    "\(path) has a record at byte \(journal.length) that this version of Ocelli does not understand")
            }
            journal.length += headLength + bytes.count
        }
        if journal.length < size {
            try file.truncate(journal.length)
            try file.sync()
        }
        return journal
    }

    /// The bytes of the record at a place; nil if it is torn by a kill or a power failure.
    private static func bytes(of file: Descriptor, at place: Int, _ size: Int) throws(TeachingError) -> [UInt8]? {
        try file.seek(place)
        let head = try file.read(headLength)
        let rest = size - place - headLength
        guard let count = count(head) else {
            // A length that is wrong is not that of a torn record, if another record follows: that one came later.
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

    /// The length of the record whose head these bytes begin with; nil if they are no head.
    private static func count(_ bytes: some Collection<UInt8>) -> Int? {
        let numbers = bytes.prefix(8)
        guard numbers.count == 8 else { return nil }
        let (count, complement) = (number(numbers.prefix(4)), number(numbers.suffix(4)))
        return count == ~complement && count <= longestRecord ? Int(count) : nil
    }

    private static func number(_ bytes: some Collection<UInt8>) -> UInt32 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The bytes that a record takes in the file.
    static func length(of record: JournalRecord) -> Int { headLength + record.bytes.count }

    /// Adds a record. After an error the file is as before.
    mutating func append(_ record: JournalRecord) throws(TeachingError) {
        guard !isBroken else {
            throw .storage("\(path) could not be written before: restart the daemon to read it again")
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

    /// Writes a file with these records in place of the one that is there, which holds until the new one is complete.
    /// - Returns: the new file, and the error where it is in place, but may be lost with the machine's power.
    static func write(
        _ records: [JournalRecord], to path: String
    ) throws(TeachingError) -> (journal: JournalFile, unsynced: TeachingError?) {
        let unfinished = path + ".new"
        var journal = JournalFile(path: path)
        do throws(TeachingError) {
            let file = try Descriptor(unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC)
            try file.write(start)
            journal.length = start.count
            for record in records {
                let bytes = try framed(record)
                try file.write(bytes)
                journal.length += bytes.count
            }
            try file.sync()
            try Folders.rename(unfinished, path, syncs: false)
        } catch {
            unlink(unfinished)
            throw error
        }
        do throws(TeachingError) { try Folders.sync(Folders.parent(of: path)) } catch { return (journal, error) }
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
