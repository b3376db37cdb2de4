/// The open connections of an event loop, by descriptor.
struct ConnectionTable {
    /// By descriptor; nil where none is open.
    private(set) var all: [Connection?] = []
    private var lastRegistration: UInt32 = 0

    /// The connection with a descriptor; nil if it was closed.
    subscript(id: Int32) -> Connection? {
        let index = Int(id)
        return index < all.count ? all[index] : nil
    }

    /// The connection with a descriptor, unless it is a later one with the same descriptor.
    subscript(id: Int32, registration: UInt32) -> Connection? {
        guard let connection = self[id], connection.registration == registration else { return nil }
        return connection
    }

    /// The registration of a new connection.
    mutating func nextRegistration() -> UInt32 {
        // 0 marks listeners and the highest number the mailbox.
        lastRegistration = lastRegistration &+ 1
        if lastRegistration == 0 || lastRegistration == .max { lastRegistration = 1 }
        return lastRegistration
    }

    mutating func insert(_ connection: Connection) {
        while all.count <= Int(connection.descriptor) { all.append(nil) }
        all[Int(connection.descriptor)] = connection
    }

    mutating func remove(_ id: Int32) { all[Int(id)] = nil }

    mutating func removeAll() { all = [] }
}
