internal import SystemSupport

/// The end of a journal that is no whole record: it was cut off, and is kept in a file next to the journal until
/// something is forgotten.
struct CutEnd {
    /// Begins the names of the files, before the digest of their bytes.
    private static let beginning = "journal.cut-"

    /// The file that it is kept in.
    let path: String
    /// The place in the journal.
    let place: Int
    let count: Int
    /// The most changes that may have been in it and were acknowledged.
    let changes: Int

    /// Writes the end of a journal to its file, which may have it already.
    init(_ bytes: [UInt8], at place: Int, of journal: String, changes: Int, _ room: ReservedRoom) throws(TeachingError)
    {
        let folder = Folders.parent(of: journal)
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

    /// Removes the files of a taught model: they may hold what is forgotten.
    static func removeAll(in folder: String) throws(TeachingError) {
        let names = try Folders.names(in: folder).filter { $0.hasPrefix(beginning) }
        guard !names.isEmpty else { return }
        for name in names { try Folders.remove(folder + "/" + name) }
        try Folders.sync(folder)
    }
}
