/// The order of versions: by the numbers between their dots (`3`, `3.1`, `3.10`, `4`); parts that are no numbers come last, by name.
struct VersionOrder: Comparable {
    private let parts: [Part]

    private struct Part: Comparable {
        let number: UInt64
        let text: String
        static func < (a: Part, b: Part) -> Bool { (a.number, a.text) < (b.number, b.text) }
    }

    init(_ version: String) {
        parts = version.split(separator: ".", omittingEmptySubsequences: false).map { part in
            Part(number: UInt64(part) ?? .max, text: String(part))
        }
    }

    static func < (a: VersionOrder, b: VersionOrder) -> Bool { a.parts.lexicographicallyPrecedes(b.parts) }
}

/// A version that an update made: what it was made of, and the number of the update.
struct UpdatedVersion: Hashable {
    let base: String
    let number: Int

    /// The update of a number of a version.
    init(base: String, number: Int) { (self.base, self.number) = (base, number) }

    /// Reads `3.1`; nil for what no update is called.
    init?(_ version: String) {
        guard let dot = version.lastIndex(of: "."), dot > version.startIndex,
            let number = Int(version[version.index(after: dot)...]), number > 0,
            version == "\(version[..<dot]).\(number)"
        else { return nil }
        self.init(base: String(version[..<dot]), number: number)
    }

    var text: String { "\(base).\(number)" }
}
