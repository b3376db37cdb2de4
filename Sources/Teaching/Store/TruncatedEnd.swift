internal import SystemSupport

/// An incomplete end of a journal that was cut off. It is kept in a file next to the journal until an example is
/// forgotten.
struct TruncatedEnd {
    /// The prefix of the file names; the digest of the bytes follows.
    private static let beginning = "journal.cut-"

    /// The path of the file.
    let path: String
    /// The offset in the journal.
    let place: Int
    let count: Int
    /// The maximum number of acknowledged changes that it may have contained.
    let changes: Int

    /// Writes the end of a journal to its file, which may exist already.
    init(_ bytes: [UInt8], at place: Int, of journal: String, changes: Int, _ room: ReservedDiskSpace)
        throws(TeachingError)
    {
        let folder = FilePath.parent(of: journal)
        path = "\(folder)/\(Self.beginning)\(SHA256.text(SHA256.digest(bytes)).prefix(16))"
        (self.place, count, self.changes) = (place, bytes.count, changes)
        let unfinished = journal + JournalFile.unfinished
        try room.write(unfinished, usesReserve: true) { file throws(TeachingError) in try file.write(bytes) }
        try Folders.rename(unfinished, path)
    }

    /// The sentence for the log.
    var sentence: String {
        "the journal's last \(count) bytes (from byte \(place)) are damaged, or of a change that was interrupted: they were cut "
            + "off and are kept in \(path); "
            + "at most \(changes) acknowledged \(changes == 1 ? "change is" : "changes are") missing; the file is removed when something is forgotten"
    }

    /// Removes these files of a taught model, because they may contain forgotten examples.
    static func removeAll(in folder: String) throws(TeachingError) {
        let names = try Folders.names(in: folder).filter { $0.hasPrefix(beginning) }
        guard !names.isEmpty else { return }
        for name in names { try Folders.remove(folder + "/" + name) }
        try Folders.sync(folder)
    }
}
